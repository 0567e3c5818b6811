// SPDX-License-Identifier: Apache-2.0
#include "core/books.h"

#include <algorithm>

#include "core/gpu.h"

namespace nvs::core {
namespace {

template <class T>
std::unique_ptr<T>& slot_of(std::vector<std::unique_ptr<T>>& slots, GpuId gpu) {
  const std::size_t index = index_of(gpu);
  if (slots.size() <= index) slots.resize(index + 1);
  return slots[index];
}

}  // namespace

void Books::join(ClientId client, TenantId tenant, Priority priority, std::uint32_t weight,
                 Share cap) {
  if (clients_.contains(client)) return;
  auto [found, fresh] = tenants_.try_emplace(tenant);
  Tenant& owner = found->second;
  if (fresh) {
    owner.id = tenant;
    owner.priority = priority;
    owner.weight = weight;
    owner.cap = cap;
  }
  Client& made = clients_[client];
  made.id = client;
  made.tenant = &owner;
  const auto after = std::find_if(owner.clients.begin(), owner.clients.end(),
                                  [client](const Client* other) { return other->id > client; });
  owner.clients.insert(after, &made);
}

void Books::leave(Client& client) {
  Tenant& owner = *client.tenant;
  std::erase(owner.clients, &client);
  clients_.erase(client.id);
  if (owner.clients.empty()) tenants_.erase(owner.id);
}

Client* Books::client(ClientId id) {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : &found->second;
}

Tenant* Books::tenant(TenantId id) {
  const auto found = tenants_.find(id);
  return found == tenants_.end() ? nullptr : &found->second;
}

Gate* Books::gate(Client& client, GpuId gpu) {
  const std::size_t index = index_of(gpu);
  return index < client.gates.size() ? client.gates[index].get() : nullptr;
}

Gate& Books::need_gate(Client& client, Gpu& gpu) {
  std::unique_ptr<Gate>& gate = slot_of(client.gates, gpu.id);
  if (gate) return *gate;
  std::unique_ptr<Seat>& seat = slot_of(client.tenant->seats, gpu.id);
  if (!seat) {
    seat = std::make_unique<Seat>();
    seat->tenant = client.tenant;
    seat->gpu = &gpu;
    seat->accrued = gpu.accounted;
    seat->service = gpu.floor_of(client.tenant->priority);
  }
  gate = std::make_unique<Gate>();
  gate->client = client.id;
  gate->seat = seat.get();
  const auto after =
      std::find_if(seat->gates.begin(), seat->gates.end(),
                   [&client](const Gate* other) { return other->client > client.id; });
  if (seat->gates.empty()) ++gpu.tenants;
  seat->gates.insert(after, gate.get());
  seat->recount(*gate);
  return *gate;
}

}  // namespace nvs::core
