// SPDX-License-Identifier: Apache-2.0
#include "core/settings.h"

#include <utility>

#include "core/accounts.h"
#include "core/choice.h"
#include "core/gangs.h"
#include "core/residency.h"
#include "core/terms.h"
#include "core/windows.h"

namespace nvs::core {
namespace {

template <class Do>
void for_each_seat(const Tenant& tenant, Do do_it) {
  for (const auto& seat : tenant.seats) {
    if (seat) do_it(*seat);
  }
}

// All windows stay open and nobody waits any more.
void begin_concurrent(Node& node, Gpu& gpu) {
  if (gpu.reserved != nullptr) cancel_reservation(node, *gpu.reserved);
  gpu.open = nullptr;
  for (Seat* seat : gpu.holders) {
    const bool was_in_gang = std::exchange(seat->in_gang, false);
    if (was_in_gang) disband(*seat->tenant);
    if (seat->hold == Hold::open) refresh_terms(node, *seat);
  }
}

// Of all the windows that are open one goes on, that of the first in order.
void begin_windows(Node& node, Gpu& gpu) {
  Seat* first = nullptr;
  const std::vector<Seat*> holders = gpu.holders;
  for (Seat* seat : holders) {
    if (seat->hold != Hold::open) continue;
    if (first == nullptr || precedes(*seat, *first, node.now)) first = seat;
  }
  if (first == nullptr) return;
  first->opened = node.now;
  gpu.open = first;
  for (Seat* seat : holders) {
    if (seat != first) end_window_here(node, *seat);
  }
}

// Shorter windows begin with what they can make up for: nobody waits for half a minute because it
// had a turn of half a minute before.
void even_out(Node& node, Gpu& gpu) {
  for (auto& [id, tenant] : node.books.tenants()) {
    if (tenant.seats.size() <= index_of(gpu.id)) continue;
    Seat* seat = tenant.seats[index_of(gpu.id)].get();
    if (seat == nullptr) continue;
    const Service most = gpu.floor_of(tenant.priority) + scaled(span_of(gpu.policy), tenant.weight);
    if (seat->service > most) set_service(node, *seat, most);
  }
}

// How far it is ahead of its class or behind it, as far as that is a matter of a window.
Service lead_of(const Seat& seat, Service floor, std::uint32_t weight) {
  return std::clamp(seat.service - floor, -scaled(kSleeperCredit, weight),
                    scaled(span_of(seat.gpu->policy), weight));
}

// Who waits of a class that is a higher one by now takes the GPU as if it had just woken up.
void wake_above(Gpu& gpu, Priority priority) {
  for (int i = static_cast<int>(priority) + 1; i < kPriorities; ++i) {
    const auto higher = static_cast<Priority>(i);
    for (const auto* line : {&gpu.line.gangs(higher), &gpu.line.singles(higher)}) {
      if (!line->empty()) gpu.wake(*line->begin()->seat);
    }
  }
}

}  // namespace

void set_policy(Node& node, Gpu& gpu, const GpuPolicy& policy) {
  gpu.account(node.now);
  for (Seat* seat : gpu.holders) seat->accrue(node.now);
  const bool had_windows = gpu.has_windows();
  gpu.policy = policy;
  // Only a turn outlasts a pause.
  if (gpu.open != nullptr && gpu.open->kept_since && !gpu.open->in_gang) settle(node, *gpu.open);
  if (had_windows && !gpu.has_windows()) begin_concurrent(node, gpu);
  if (!had_windows && gpu.has_windows()) begin_windows(node, gpu);
  even_out(node, gpu);
  if (gpu.open != nullptr) set_window(*gpu.open, gpu.open->opened);
  // What was a gang with this GPU may not be one without it.
  for (Gpu& other : node.gpus) node.touch(other);
  touch_memory(node, gpu);
}

void set_priority(Node& node, Tenant& tenant, Priority priority) {
  const Priority old = tenant.priority;
  if (old == priority) return;
  for_each_seat(tenant, [&](Seat& seat) {
    Gpu& gpu = *seat.gpu;
    gpu.account(node.now);
    seat.accrue(node.now);
    const Service lead = lead_of(seat, gpu.floor_of(old), tenant.weight);
    if (seat.waiting) gpu.line.remove(seat);
    seat.service = gpu.floor_of(priority) + lead;
    if (seat.hold != Hold::none) {
      --gpu.holding[static_cast<std::size_t>(old)];
      ++gpu.holding[static_cast<std::size_t>(priority)];
    }
    seat.by_floor = false;
  });
  tenant.priority = priority;
  for_each_seat(tenant, [&node, priority](Seat& seat) {
    if (seat.waiting) {
      seat.gpu->line.add(seat);
      seat.gpu->wake(seat);
    }
    if (seat.gpu->open == &seat) wake_above(*seat.gpu, priority);
    node.touch(*seat.gpu);
    touch_memory(node, *seat.gpu);
  });
}

void set_weight(Node& node, Tenant& tenant, std::uint32_t weight) {
  if (tenant.weight == weight) return;
  for_each_seat(tenant, [&](Seat& seat) {
    Gpu& gpu = *seat.gpu;
    gpu.account(node.now);
    seat.accrue(node.now);
    // What a small weight has made of a window would be made up for in hours with a large one.
    const Service floor = gpu.floor_of(tenant.priority);
    const Service lead = lead_of(seat, floor, weight);
    if (seat.waiting) gpu.line.remove(seat);
    seat.service = floor + lead;
  });
  tenant.weight = weight;
  for_each_seat(tenant, [](Seat& seat) {
    if (seat.waiting) seat.gpu->line.add(seat);
  });
}

void pause(Node& node, Tenant& tenant) {
  if (std::exchange(tenant.paused, true)) return;
  cancel_reservation(node, tenant);
  for_each_seat(tenant, [&node](Seat& seat) {
    end_window_here(node, seat);
    settle(node, seat);
    touch_memory(node, *seat.gpu);
  });
}

void resume(Node& node, Tenant& tenant) {
  if (!std::exchange(tenant.paused, false)) return;
  for_each_seat(tenant, [&node](Seat& seat) {
    settle(node, seat);
    touch_memory(node, *seat.gpu);
  });
}

void remove_client(Node& node, Client& client) {
  Tenant& tenant = *client.tenant;
  for (const auto& gate : client.gates) {
    if (!gate) continue;
    Seat& seat = *gate->seat;
    node.deadlines.move(gate->timer, std::nullopt, seat.gpu->id, client.id);
    seat.gpu->account(node.now);
    seat.accrue(node.now);
    const std::uint32_t busy = seat.busy;
    seat.uncount(*gate);
    node.note_busy(seat, busy);
    // Whose work has gone with it does not come back from a pause (ADR-0033).
    if (busy > 0 && seat.busy == 0) seat.idle_since = Instant{};
    forget_memory(node, *gate);
    std::erase(seat.gates, gate.get());
  }
  // The others of its gang too, and only now: no place is kept for work that has gone with it.
  for_each_seat(tenant, [&node](Seat& seat) { settle(node, seat); });
  if (tenant.clients.size() == 1) {
    cancel_reservation(node, tenant);
    for_each_seat(tenant, [&node](Seat& seat) {
      if (seat.in_presence) forget_presence(seat);
      close_account(node, seat);
    });
  }
  node.books.leave(client);
}

}  // namespace nvs::core
