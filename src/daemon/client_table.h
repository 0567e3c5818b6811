// SPDX-License-Identifier: Apache-2.0
// Who is connected, as people name them: clients, the tenants that they belong to, and for a while
// the tenants that have left, whose windows are still in the trace.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/instant.h"
#include "base/log.h"
#include "core/ids.h"
#include "core/policy.h"
#include "daemon/pods.h"
#include "daemon/tenant_limits.h"

namespace nvs::daemon {

struct Tenant {
  core::TenantId id{};
  std::string key;   // Peer::tenant_key
  std::string name;  // tenant_name() of its first client
  std::string program;
  std::string pod;
  std::string pod_namespace;
  std::string container;       // the first digits of its id
  std::string container_name;  // as its pod names it
  std::string pod_uid;         // Peer::pod_uid
  std::string slot;            // of the device plugin, as its first client says
  Standing standing = Standing::outside;
  std::string standing_reason;  // why it is not verified
  bool paused = false;
  core::Priority priority_asked = core::Priority::normal;  // by its first client
  std::vector<core::ClientId> clients;
  // What earlier daemons billed; the core begins at zero.
  std::map<core::GpuId, Duration> billed_before;
  TenantLimits limits;
  std::vector<std::string> limit_errors;       // what of it was not understood
  std::vector<std::string> annotation_errors;  // likewise, of what its pod's annotations say now
};

// Who it is, for the log, and what else there is to say.
Fields fields_of(const Tenant& tenant, const Fields& more = {});

struct Client {
  core::TenantId tenant{};
  pid_t pid = 0;
  std::map<core::GpuId, std::uint64_t> memory_bytes;  // as it says
  std::set<core::GpuId> faults;                       // on which the log says that it had one
};

class ClientTable {
 public:
  // The tenant with this key; nothing if it has no client.
  Tenant* find(const std::string& key);
  Tenant& at(core::TenantId tenant) { return tenants_.at(tenant); }
  const Tenant& at(core::TenantId tenant) const { return tenants_.at(tenant); }

  // A tenant without clients so far; neither its number nor its key are in the table.
  Tenant& add_tenant(core::TenantId id, Tenant tenant);
  void add_client(core::ClientId client, core::TenantId tenant, pid_t pid);
  // With the last of its clients a tenant leaves too.
  void remove_client(core::ClientId client);

  // Of all tenants that have clients.
  std::vector<core::TenantId> ids() const;
  Client& client(core::ClientId client) { return clients_.at(client); }
  const std::unordered_map<core::TenantId, Tenant>& tenants() const { return tenants_; }
  const std::unordered_map<core::ClientId, Client>& clients() const { return clients_; }
  // Those that left last, and their names.
  const std::deque<std::pair<core::TenantId, std::string>>& departed() const { return departed_; }

 private:
  std::unordered_map<core::TenantId, Tenant> tenants_;
  std::unordered_map<std::string, core::TenantId> tenant_of_key_;
  std::unordered_map<core::ClientId, Client> clients_;
  std::deque<std::pair<core::TenantId, std::string>> departed_;
};

}  // namespace nvs::daemon
