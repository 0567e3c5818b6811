// SPDX-License-Identifier: Apache-2.0
#include "daemon/memory_books.h"

#include <algorithm>
#include <utility>

namespace nvs::daemon {
namespace {

// That one has more than the GPU is not believed: the others would be refused memory for it.
HeldMemory within(HeldMemory held, std::uint64_t size) {
  if (size == 0) return held;
  held.resident = std::min(held.resident, size);
  held.fixed = std::min(held.fixed, size - held.resident);
  held.early = std::min(held.early, held.fixed);
  held.away = std::min(held.away, size - held.resident - held.fixed);
  held.clean = std::min(held.clean, held.resident);
  held.loose = std::min(held.loose, size - held.resident - held.fixed);
  return held;
}

std::uint64_t movable_of(const HeldMemory& held) { return held.resident + held.away; }

}  // namespace

void MemoryBooks::add_gpu(std::uint64_t physical, std::uint64_t size) {
  Gpu& gpu = gpus_.emplace_back(Gpu{.capacity = Capacity(size)});
  gpu.physical = physical;
}

void MemoryBooks::use(core::ClientId id, core::TenantId tenant, core::GpuId gpu_id) {
  Gpu& gpu = gpus_[core::index_of(gpu_id)];
  const auto [client, is_new] = gpu.clients.try_emplace(id);
  if (!is_new) return;
  client->second.tenant = tenant;
  show(gpu_id, id);
}

void MemoryBooks::set_size(core::GpuId id, std::uint64_t physical, std::uint64_t size) {
  Gpu& gpu = gpus_[core::index_of(id)];
  gpu.physical = physical;
  gpu.capacity = Capacity(size);
  for (auto& [client_id, client] : gpu.clients) {
    change(gpu, client, within(client.held, std::max(physical, size)));
  }
  for (const auto& [client_id, client] : gpu.clients) show(id, client_id);
  review(id);
}

void MemoryBooks::show(core::GpuId gpu_id, core::ClientId id) {
  Gpu& gpu = gpus_[core::index_of(gpu_id)];
  Client& client = gpu.clients[id];
  const std::uint64_t total = gpu.capacity.visible();
  if (total == 0) return;
  // Its first word is the whole truth: programs ask for what is free before they tell of anything.
  Demand demand = demand_on(gpu);
  demand.on_gpu = reach_of(gpu, client);
  const std::uint64_t limit = limit_of(demand, total, client.held.allocated());
  client.total = total;
  client.limit = limit;
  gpu.was_limited = gpu.was_limited || limit < total;
  shown_.push_back({id, gpu_id, total, limit});
}

void MemoryBooks::change(Gpu& gpu, Client& client, const HeldMemory& held) {
  const bool has_moved = held.on_gpu() != client.held.on_gpu() || held.loose != client.held.loose ||
                         held.early != client.held.early;
  if (has_moved) ++gpu.moves;
  gpu.processes += held.allocated() > 0 ? 1 : 0;
  gpu.processes -= client.held.allocated() > 0 ? 1 : 0;
  gpu.sum += held;
  gpu.sum -= client.held;
  const auto movable = gpu.movable.try_emplace(client.tenant).first;
  movable->second += movable_of(held) - movable_of(client.held);
  if (movable->second == 0) gpu.movable.erase(movable);
  client.held = held;
}

void MemoryBooks::hold(core::ClientId id, core::GpuId gpu_id, const HeldMemory& held) {
  Gpu& gpu = gpus_[core::index_of(gpu_id)];
  Client& client = gpu.clients[id];
  client.has_told = true;
  change(gpu, client, within(held, std::max(gpu.physical, gpu.capacity.size())));
  review(gpu_id);
}

void MemoryBooks::leave(core::ClientId id) {
  for (std::size_t index = 0; index < gpus_.size(); ++index) {
    Gpu& gpu = gpus_[index];
    const auto client = gpu.clients.find(id);
    if (client == gpu.clients.end()) continue;
    change(gpu, client->second, {});
    gpu.clients.erase(client);
    review(static_cast<core::GpuId>(index));
  }
  std::erase_if(shown_, [id](const Shown& shown) { return shown.client == id; });
}

std::optional<std::uint64_t> MemoryBooks::measure(core::GpuId id, std::uint64_t free_bytes) {
  Gpu& gpu = gpus_[core::index_of(id)];
  if (gpu.physical == 0) return std::nullopt;
  const bool has_changed =
      gpu.capacity.poll({.used = gpu.physical - std::min(gpu.physical, free_bytes),
                         .claimed = gpu.sum.on_gpu() + gpu.sum.loose,
                         .early = gpu.sum.early,
                         .processes = gpu.processes,
                         .moves = gpu.moves});
  if (!has_changed) return std::nullopt;
  review(id);
  return gpu.capacity.bytes();
}

// Each process has segments of its own, the last of which is not full, and for memory to change
// places one segment must be nobody's.
std::uint64_t MemoryBooks::host_bytes_for(std::uint64_t processes) const {
  return host_bytes_ - std::min(host_bytes_, (processes + 1) * segment_bytes_);
}

// What a client can have at a time. What others have that cannot be moved never makes room; and a
// tenant runs with all its processes, so all of theirs is there when it does.
std::uint64_t MemoryBooks::reach_of(const Gpu& gpu, const Client& client) {
  const std::uint64_t on_gpu = gpu.capacity.bytes();
  std::uint64_t taken = gpu.sum.fixed - client.held.fixed;
  const auto movable = gpu.movable.find(client.tenant);
  if (movable != gpu.movable.end()) taken += movable->second - movable_of(client.held);
  return on_gpu - std::min(on_gpu, taken);
}

Demand MemoryBooks::demand_on(const Gpu& gpu) const {
  const std::uint64_t on_gpu = gpu.capacity.bytes();
  const std::uint64_t places = on_gpu + host_bytes_for(gpu.processes);
  return {gpu.sum.allocated(), gpu.sum.asked, places, on_gpu};
}

// Limits depend on all clients of the GPU only while more is wanted than there is, or less is left
// of it than somebody was shown.
void MemoryBooks::review(core::GpuId id) {
  Gpu& gpu = gpus_[core::index_of(id)];
  if (gpu.capacity.size() == 0) return;
  Demand demand = demand_on(gpu);
  const bool has_shrunk = std::any_of(gpu.clients.begin(), gpu.clients.end(), [&](const auto& one) {
    return one.second.total > reach_of(gpu, one.second);
  });
  const bool is_limited = demand.is_crowded() || has_shrunk;
  if (!std::exchange(gpu.was_limited, is_limited) && !is_limited) return;
  for (auto& [client_id, client] : gpu.clients) {
    demand.on_gpu = reach_of(gpu, client);
    const std::uint64_t limit = limit_of(demand, client.total, client.held.allocated());
    // Who waits for memory has to know whether there will be any.
    const std::uint64_t wanted = client.held.allocated() + client.held.asked;
    const bool decides = client.held.asked > 0 && (client.limit < wanted) != (limit < wanted);
    const bool is_worth_it = decides || is_news(client.limit, limit, client.total);
    if (client.total == 0 || !is_worth_it) continue;
    client.limit = limit;
    shown_.push_back({client_id, id, client.total, limit});
  }
}

std::vector<MemoryBooks::Shown> MemoryBooks::take_shown() { return std::exchange(shown_, {}); }

std::vector<core::ClientId> MemoryBooks::clients_on(core::GpuId gpu) const {
  std::vector<core::ClientId> clients;
  for (const auto& [id, client] : gpus_[core::index_of(gpu)].clients) clients.push_back(id);
  return clients;
}

std::optional<HeldMemory> MemoryBooks::held(core::ClientId id, core::GpuId gpu_id) const {
  const Gpu& gpu = gpus_[core::index_of(gpu_id)];
  const auto client = gpu.clients.find(id);
  if (client == gpu.clients.end() || !client->second.has_told) return std::nullopt;
  return client->second.held;
}

}  // namespace nvs::daemon
