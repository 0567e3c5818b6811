// SPDX-License-Identifier: Apache-2.0
#include "core/gangs.h"

#include <algorithm>
#include <optional>

#include "core/choice.h"
#include "core/overdue.h"
#include "core/residency.h"
#include "core/windows.h"

namespace nvs::core {
namespace {

// Is there one that needs this GPU alone and comes first?
bool a_single_precedes(const Seat& seat, Instant now) {
  for (const Priority priority : order_of_classes(*seat.gpu)) {
    const WaitingLine::Ordered& singles = seat.gpu->line.singles(priority);
    if (singles.empty()) continue;
    const Seat* first = singles.begin()->seat;
    // Of equals the one that stands in the line comes first.
    return first != &seat &&
           (precedes(*first, seat, now) || (!seat.waiting && !precedes(seat, *first, now)));
  }
  return false;
}

// The same for gangs; but one gives way only to those that have waited longer. If each gave way to
// whoever comes first on one of its GPUs, each might be first somewhere, and none would start.
// One of a lower class is given way to when it is overdue, and not before: it may lack another GPU.
bool a_gang_precedes(const Seat& seat, Instant now) {
  const Tenant& tenant = *seat.tenant;
  for (const Priority priority : order_of_classes(*seat.gpu)) {
    int looks = 0;
    for (const LineKey& key : seat.gpu->line.gangs(priority)) {
      if (key.seat == &seat || !precedes(*key.seat, seat, now) || ++looks > kGangTries) break;
      const Tenant& other = *key.seat->tenant;
      if (priority >= tenant.priority && is_older(other, tenant)) return true;
      if (!is_gang(other, now)) return true;  // it was one, and needs this GPU alone by now
    }
  }
  return false;
}

bool has_turn(const Seat& seat, Instant now) {
  const Gpu& gpu = *seat.gpu;
  if (gpu.open == &seat) {
    // When its window is over it needs another one here as well, and comes in its turn.
    if (gpu.line.empty() || now < seat.window_end) return true;
  } else if (gpu.open != nullptr && !may_take(seat, *gpu.open, now, Taker::gang)) {
    return false;
  }
  return !a_single_precedes(seat, now) && !a_gang_precedes(seat, now);
}

// Nobody's turn counts any more, but for a window that somebody else had to wait for as long.
bool may_claim(const Seat& seat, Instant now) {
  const Seat* holder = seat.gpu->open;
  if (holder == nullptr || holder == &seat || !holder->overdue) return true;
  return now >= holder->window_end || is_idle(*holder);
}

// Free, or held by this seat.
bool is_free_for(const Seat& seat) {
  return std::all_of(
      seat.gpu->holders.begin(), seat.gpu->holders.end(),
      [&seat](const Seat* other) { return other == &seat && other->hold == Hold::open; });
}

// Is the GPU on its way to a gang that is overdue and comes first?
bool is_claimed(const Seat& seat, Instant now, Claim claim) {
  const Seat* overdue = overdue_gang(*seat.gpu, now);
  if (overdue == nullptr || overdue == &seat) return false;
  return claim == Claim::turn || is_older(*overdue->tenant, *seat.tenant);
}

bool may_have(const Seat& seat, Instant now, Claim claim) {
  const Gpu& gpu = *seat.gpu;
  if (gpu.reserved != nullptr && gpu.reserved != seat.tenant) return false;
  return claim == Claim::overdue ? may_claim(seat, now) : has_turn(seat, now);
}

// When it is not active any more, if nothing happens until then.
std::optional<Instant> forgotten_at(const Seat& seat) {
  if (seat.hold != Hold::none || seat.wanting > 0) return std::nullopt;
  return seat.ended + kGangMemory + Duration::from_ns(1);
}

Seat* seat_on(const Tenant& tenant, const Gpu& gpu) { return tenant.seats[index_of(gpu.id)].get(); }

}  // namespace

bool is_active(const Seat& seat, Instant now) {
  if (!seat.gpu->has_windows()) return false;
  if (seat.hold == Hold::open) return seat.busy > 0;
  if (seat.wanting > 0) return true;
  const bool cannot_run = seat.memory.outside || seat.quota.throttled;
  if (cannot_run && seat.hold == Hold::none) return false;
  if (seat.closed == 0 && seat.hold == Hold::none) return false;
  return seat.ended_busy && (seat.hold == Hold::closing || now - seat.ended <= kGangMemory);
}

bool is_gang(const Tenant& tenant, Instant now) {
  const auto active = [now](const auto& seat) { return seat && is_active(*seat, now); };
  return std::count_if(tenant.seats.begin(), tenant.seats.end(), active) > 1;
}

std::vector<Seat*> gang_of(const Tenant& tenant, Instant now) {
  std::vector<Seat*> gang;
  if (tenant.seats.size() < 2) return gang;
  gang.reserve(tenant.seats.size());
  for (const auto& seat : tenant.seats) {
    if (seat && is_active(*seat, now)) gang.push_back(seat.get());
  }
  return gang;
}

void line_up(Node& node, Seat& seat) {
  const std::vector<Seat*> gang = gang_of(*seat.tenant, node.now);
  if (gang.size() < 2) return;
  for (Seat* member : gang) {
    if (member->waiting) member->gpu->line.move_to_gangs(*member);
  }
}

bool can_start(Node& node, Gpu& gpu, const std::vector<Seat*>& gang, Claim claim) {
  // Where it need not wait for a drain it is in nobody's way: what it opens can be taken from it.
  const bool all_free =
      std::all_of(gang.begin(), gang.end(), [](const Seat* seat) { return is_free_for(*seat); });
  for (const Seat* seat : gang) {
    const bool is_first = seat->gpu == &gpu && gpu.open == nullptr;  // in line, on a free GPU
    if ((is_first || may_have(*seat, node.now, claim)) &&
        (all_free || !is_claimed(*seat, node.now, claim))) {
      continue;
    }
    const Gpu& there = *seat->gpu;
    Instant again = node.now + span_of(there.policy);
    if (there.open != nullptr && there.open->window_end > node.now) {
      again = std::min(again, there.open->window_end);
    }
    for (const Seat* other : gang) again = std::min(again, forgotten_at(*other).value_or(again));
    gpu.try_again = gpu.try_again ? std::min(*gpu.try_again, again) : again;
    return false;
  }
  return true;
}

void reserve(Node& node, const std::vector<Seat*>& gang) {
  Tenant& tenant = *gang.front()->tenant;
  for (Seat* seat : gang) {
    tenant.reserved.push_back(seat->gpu);
    seat->gpu->reserved = &tenant;
    node.touch(*seat->gpu);
  }
  for (Seat* seat : gang) {
    Seat* holder = seat->gpu->open;
    if (holder == nullptr || holder == seat) continue;
    // One that another gang only keeps here ends here alone.
    is_kept(*holder) ? end_window_here(node, *holder) : end_window(node, *holder);
  }
}

void open_reserved(Node& node, Gpu& gpu) {
  Tenant& tenant = *gpu.reserved;
  bool wanted = false;
  bool free = true;
  for (const Gpu* other : tenant.reserved) {
    const Seat& seat = *seat_on(tenant, *other);
    // Whoever wanted it may have left: the others must not wait for a GPU that nobody needs.
    if (!is_active(seat, node.now)) return cancel_reservation(node, tenant);
    wanted = wanted || seat.waiting;
    free = free && is_free_for(seat);
    if (const auto at = forgotten_at(seat))
      gpu.try_again = std::min(gpu.try_again.value_or(*at), *at);
  }
  if (!wanted) {
    cancel_reservation(node, tenant);
    return;
  }
  if (!free) return;
  const bool overdue = is_overdue(tenant, node.now);
  Seat* any = nullptr;
  for (Gpu* other : std::exchange(tenant.reserved, {})) {
    other->reserved = nullptr;
    node.touch(*other);  // one that it has had already gets another end too
    Seat& seat = *seat_on(tenant, *other);
    seat.accrue(node.now);
    seat.in_gang = true;
    if (seat.hold == Hold::none) open_window(node, seat);
    seat.overdue = overdue;
    any = &seat;
  }
  set_window(*any, node.now);
}

void note_activity(Node& node, Seat& seat) {
  const bool was_active = std::exchange(seat.active, is_active(seat, node.now));
  if (!was_active || seat.active || seat.tenant->lines == 0) return;
  const bool fell_apart = !is_gang(*seat.tenant, node.now);
  for (const auto& other : seat.tenant->seats) {
    if (!other || !other->waiting) continue;
    if (fell_apart) other->gpu->line.move_to_singles(*other);
    node.touch(*other->gpu);
  }
}

void forget_gangs(Gpu& gpu, Instant now) {
  for (const Priority priority : {Priority::high, Priority::normal, Priority::low}) {
    for (;;) {
      Seat* oldest = gpu.line.oldest_gang(priority);
      if (oldest == nullptr || is_gang(*oldest->tenant, now)) break;
      gpu.line.move_to_singles(*oldest);
    }
  }
}

void touch_gang(Node& node, const Seat& seat) {
  if (!seat.in_gang) return;
  for (const auto& other : seat.tenant->seats) {
    if (other && other->in_gang) node.touch(*other->gpu);
  }
}

void set_window(Seat& seat, Instant begin) {
  if (!seat.in_gang) {
    renew_window(seat, begin);
    return;
  }
  for (const auto& other : seat.tenant->seats) {
    if (other && other->in_gang) renew_window(*other, begin);
  }
}

void renew_window(Seat& seat, Instant begin) {
  Duration span = span_of(seat.gpu->policy);
  for (const auto& other : seat.tenant->seats) {
    if (seat.in_gang && other && other->in_gang) span = std::max(span, span_of(other->gpu->policy));
  }
  if (begin != seat.opened) {
    seat.accrue(begin);
    seat.used_before = seat.bill.used();
  }
  seat.opened = begin;
  seat.window_end = begin + span;
}

void cancel_reservation(Node& node, Tenant& tenant) {
  for (Gpu* gpu : std::exchange(tenant.reserved, {})) {
    gpu->reserved = nullptr;
    node.touch(*gpu);
  }
}

void disband(const Tenant& tenant) {
  const auto holds = [](const auto& seat) {
    return seat && seat->in_gang && seat->hold != Hold::none;
  };
  if (std::any_of(tenant.seats.begin(), tenant.seats.end(), holds)) return;
  for (const auto& seat : tenant.seats) {
    if (seat) seat->in_gang = false;
  }
}

}  // namespace nvs::core
