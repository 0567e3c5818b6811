// SPDX-License-Identifier: Apache-2.0
#include "core/view_of.h"

#include <algorithm>

#include "core/accounts.h"
#include "core/memory_books.h"
#include "core/residency.h"

namespace nvs::core {
namespace {

bool is_loose(const Seat& seat) {
  return std::any_of(seat.gates.begin(), seat.gates.end(),
                     [](const Gate* gate) { return gate->refused; });
}

bool is_faulted(const Seat& seat) {
  return std::any_of(seat.gates.begin(), seat.gates.end(),
                     [](const Gate* gate) { return gate->memory.is_faulted; });
}

TenantState state_of(const Seat& seat) {
  if (seat.hold == Hold::closing) return TenantState::draining;
  if (seat.hold == Hold::open) {
    return seat.busy > 0 ? TenantState::running : TenantState::idle;
  }
  if (seat.silent > 0) return TenantState::unresponsive;
  if (is_faulted(seat)) return TenantState::faulted;
  if (is_loose(seat)) return TenantState::loose;
  if (seat.tenant->paused) return TenantState::paused;
  if (seat.waiting) return TenantState::waiting;
  // What never fits beside what others keep waits for their end.
  const bool waits_for_room = seat.memory.impossible && seat.wanting > 0;
  if (seat.memory.waits || waits_for_room) return TenantState::swapped;
  if (seat.quota.waits) return TenantState::throttled;
  return seat.beside > 0 ? TenantState::draining : TenantState::idle;
}

void show_quota(const Seat& seat, Instant now, TenantOnGpu& view) {
  view.throttled = seat.quota.waited;
  if (seat.quota.waits) view.throttled += now - seat.quota.waits_since;
  view.memory_wait = seat.memory_wait;
  if (seat.memory.waits) view.memory_wait += now - seat.memory.waits_since;
  view.cap = seat.tenant->cap;
  if (!seat.quota.account) return;
  view.cap_in_force = cap_in_force(seat);
  view.credit = credit_of(seat, now);
}

TenantOnGpu on_gpu(const Seat& seat, Instant now) {
  TenantOnGpu view{};
  view.gpu = seat.gpu->id;
  view.state = state_of(seat);
  view.used = seat.bill.used();
  if (seat.busy > 0) view.used += now - seat.accrued;
  view.had = seat.had + seat.uncharged(now);
  view.waiting_now = seat.waiting ? now - seat.waiting_since : Duration{};
  view.waited = seat.waited + view.waiting_now;
  view.longest_wait = std::max(seat.longest_wait, view.waiting_now);
  view.windows = seat.windows;
  show_quota(seat, now, view);
  for (const Gate* gate : seat.gates) {
    const GateMemory& memory = gate->memory;
    view.resident += memory.resident;
    view.away += memory.away;
    view.fixed += memory.fixed;
    view.asked += memory.asked;
    view.allowed += memory.allowances.bytes();
    view.stuck = view.stuck || memory.stuck || memory.stays;
  }
  view.too_large = seat.memory.impossible;
  return view;
}

TenantView view_of(const Tenant& tenant, Instant now) {
  TenantView view{};
  view.tenant = tenant.id;
  view.priority = tenant.priority;
  view.weight = tenant.weight;
  view.paused = tenant.paused;
  for (const Client* client : tenant.clients) view.clients.push_back(client->id);
  for (const auto& seat : tenant.seats) {
    if (seat) view.gpus.push_back(on_gpu(*seat, now));
  }
  return view;
}

// The one whose window is open, else one whose window closes.
std::optional<TenantId> holder_of(const Gpu& gpu) {
  if (gpu.open != nullptr) return gpu.open->tenant->id;
  if (gpu.holders.empty()) return std::nullopt;
  return gpu.holders.front()->tenant->id;
}

GpuView view_of(const Gpu& gpu, Instant now) {
  GpuView view{};
  view.gpu = gpu.id;
  view.policy = gpu.policy;
  view.capacity_bytes = gpu.capacity_bytes;
  view.holder = holder_of(gpu);
  view.waiting = gpu.line.size();
  view.switches = gpu.switches;
  view.held = gpu.held_at(now);
  view.handover = gpu.handover_at(now);
  view.usable_bytes = usable_bytes(gpu);
  view.committed_bytes = committed_bytes(gpu);
  view.swapped = gpu.memory.waiting;
  view.turns = gpu.memory.turn.number;
  view.turn = gpu.memory.turn.length;
  view.moved_out_bytes = gpu.memory.moved_out;
  view.moved_in_bytes = gpu.memory.moved_in;
  view.caps = static_cast<std::uint32_t>(std::min<std::int64_t>(gpu.quota.clock.sum(), UINT32_MAX));
  view.swap_idle = gpu.swap_idle_at(now);
  return view;
}

}  // namespace

NodeView view_of(const Node& node, Instant now) {
  NodeView view;
  for (const Gpu& gpu : node.gpus) view.gpus.push_back(view_of(gpu, now));
  for (const auto& [id, tenant] : node.books.tenants()) {
    view.tenants.push_back(view_of(tenant, now));
    for (const auto& seat : tenant.seats) {
      if (seat && is_loose(*seat)) view.gpus[index_of(seat->gpu->id)].loose.push_back(id);
    }
  }
  return view;
}

}  // namespace nvs::core
