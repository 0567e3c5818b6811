// SPDX-License-Identifier: Apache-2.0
// The books of tenants and clients: who is here, who belongs to whom, and which GPUs they have ever
// asked for. They know nothing of windows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/gate.h"
#include "core/ids.h"
#include "core/policy.h"
#include "core/seat.h"

namespace nvs::core {

struct Client;

// What it had on a GPU when it was here before, and what that GPU's quota clock showed then.
struct KeptCredit {
  Duration credit;
  Duration at;
};

struct Tenant {
  TenantId id{};
  Priority priority = Priority::normal;
  std::uint32_t weight = 100;
  Share cap = kNoCap;
  bool paused = false;
  std::vector<Client*> clients;              // in the order of their numbers
  std::vector<std::unique_ptr<Seat>> seats;  // by GPU; empty where it was never seen
  std::vector<Gpu*> reserved;                // kept free until all can be opened together
  std::map<GpuId, KeptCredit> kept;
  std::uint32_t lines = 0;  // in which it stands
  Instant waiting_since;    // in the first of them
};

struct Client {
  ClientId id{};
  Tenant* tenant = nullptr;
  std::vector<std::unique_ptr<Gate>> gates;  // by GPU; empty where it was never seen
  std::uint32_t silent = 0;                  // how many of them are silent
};

class Books {
 public:
  // Both ignore a number that they have already.
  void join(ClientId client, TenantId tenant, Priority priority, std::uint32_t weight,
            Share cap = kNoCap);
  // The client's gates must be out of the schedule. Takes the tenant along if it was its last
  // client.
  void leave(Client& client);

  Client* client(ClientId id);
  Tenant* tenant(TenantId id);
  static Gate* gate(Client& client, GpuId gpu);
  // Makes the gate, and the tenant's seat, if they are not there.
  static Gate& need_gate(Client& client, Gpu& gpu);

  const std::map<TenantId, Tenant>& tenants() const { return tenants_; }
  std::map<TenantId, Tenant>& tenants() { return tenants_; }

 private:
  std::map<TenantId, Tenant> tenants_;
  std::map<ClientId, Client> clients_;
};

}  // namespace nvs::core
