// SPDX-License-Identifier: Apache-2.0
#include "core/windows.h"

#include <algorithm>

#include "base/assert.h"
#include "core/accounts.h"
#include "core/choice.h"
#include "core/drains.h"
#include "core/gangs.h"
#include "core/residency.h"
#include "core/terms.h"
#include "core/throttle.h"
#include "core/turns.h"

namespace nvs::core {
namespace {

enum class Joins : std::uint8_t {
  anew,      // it has just got work, or its memory
  returning  // it had work all the time, and lost its window or had had its share: it takes nothing
             // in mid-window
};

void join_line(Node& node, Seat& seat, Joins how) {
  Gpu& gpu = *seat.gpu;
  gpu.account(node.now);
  // Whoever slept is let ahead a little of those that did not, and no more: time not used is gone.
  // One that wants more as soon as it has drained did not sleep, and keeps what it is owed.
  const Service least =
      gpu.floor_of(seat.tenant->priority) - scaled(kSleeperCredit, seat.tenant->weight);
  if (seat.windows == 0 || seat.ended < node.now) seat.service = std::max(seat.service, least);
  seat.waiting = true;
  seat.as_gang = false;
  seat.woke = false;
  seat.waiting_since = node.now;
  if (seat.tenant->lines++ == 0) seat.tenant->waiting_since = node.now;
  gpu.line.add(seat);
  if (how == Joins::anew) gpu.wake(seat);
  line_up(node, seat);
}

void leave_line(Node& node, Seat& seat) {
  Gpu& gpu = *seat.gpu;
  gpu.account(node.now);
  gpu.floor_of(seat.tenant->priority);  // keeps what this seat says about the floor
  gpu.line.hear(seat);
  gpu.line.remove(seat);
  if (gpu.waker == &seat) gpu.waker = nullptr;
  if (gpu.promised == &seat) gpu.promised = nullptr;
  seat.waiting = false;
  --seat.tenant->lines;
  const Duration wait = node.now - seat.waiting_since;
  seat.waited += wait;
  seat.longest_wait = std::max(seat.longest_wait, wait);
}

void begin_hold(Node& node, Seat& seat, Hold hold) {
  NVS_ASSERT(seat.hold == Hold::none);
  if (seat.waiting) leave_line(node, seat);
  Gpu& gpu = *seat.gpu;
  gpu.account(node.now);
  seat.accrue(node.now);
  seat.hold = hold;
  seat.held_since = node.now;
  seat.leave_out_of_burst();
  gpu.holders.push_back(&seat);
  ++gpu.holding[class_of(seat)];
  note_presence(node, seat);
  node.touch(gpu);
}

void release(Node& node, Seat& seat) {
  Gpu& gpu = *seat.gpu;
  gpu.account(node.now);
  seat.accrue(node.now);
  // Whoever says that it has no work and takes its time to close is served like one that works.
  const Duration held_up = std::exchange(seat.held_up, {});
  if (held_up > kDrainFree) seat.service += scaled(held_up - kDrainFree, seat.tenant->weight);
  gpu.floor_of(seat.tenant->priority);
  std::erase(gpu.holders, &seat);
  --gpu.holding[class_of(seat)];
  if (gpu.open == &seat) gpu.open = nullptr;
  seat.count_burst();
  if (seat.hold == Hold::open || !seat.ended_busy) seat.end_burst();
  seat.hold = Hold::none;
  seat.by_floor = seat.overdue = false;
  seat.ended = node.now;
  if (seat.in_gang) disband(*seat.tenant);
  note_window_ended(gpu, node.now);
  // What has to go on the tenant's other GPUs may have waited for this drain.
  for (const auto& other : seat.tenant->seats) {
    if (other && other->memory.outside) touch_memory(node, *other->gpu);
  }
}

void open_gate(Node& node, Gate& gate, bool took_over) {
  node.change(gate, [&node](Gate& it) {
    it.state = GateState::open;
    it.idle = !it.wants;
    it.wants = false;
    it.let_in = false;
    it.grant = node.fresh_grant();
  });
  const Seat& seat = *gate.seat;
  node.emit(OpenWindow{gate.client, seat.gpu->id, gate.grant, seat.terms, took_over});
}

// What it could not use because it lacked another GPU is gone: it does not catch up with all of it.
void limit_credit(Seat& seat) {
  Gpu& gpu = *seat.gpu;
  const Service credit = scaled(span_of(gpu.policy) * kGangCreditWindows, 100) +
                         scaled(kSleeperCredit, seat.tenant->weight);
  seat.service = std::max(seat.service, gpu.floor_of(seat.tenant->priority) - credit);
}

// Begins or ends its wait for its next share.
Joins note_throttled(Seat& seat, bool throttled, Instant now) {
  SeatQuota& quota = seat.quota;
  if (quota.waits == throttled) return Joins::anew;
  quota.waits = throttled;
  if (throttled) {
    quota.waits_since = now;
  } else {
    quota.waited += now - quota.waits_since;
  }
  return Joins::returning;
}

// It had a turn of its own, whether or not that is over, and could use what is left of it.
bool has_serial_turn(const Seat& seat) {
  return stay_of(seat.gpu->policy) == Stay::turn && seat.hold == Hold::open && !seat.in_gang &&
         !lacks_memory(seat);
}

// At least half of a turn is used: whoever has rested for longer than it worked has no use for it.
Instant rests_until(const Seat& seat) {
  const Duration used = seat.bill.used() - seat.used_before;
  const Instant half_used = seat.opened + used * 2 + kRestFree;
  return std::min({seat.window_end, seat.idle_since + kRestMin, half_used});
}

bool a_higher_class_waits(const Seat& seat) {
  for (std::size_t i = class_of(seat) + 1; i < kPriorities; ++i) {
    if (seat.gpu->line.size_of(static_cast<Priority>(i)) > 0) return true;
  }
  return false;
}

// Places that the gang kept and does not need any more.
void settle_kept(Node& node, const Tenant& tenant) {
  for (const auto& seat : tenant.seats) {
    if (!seat || !seat->in_gang || seat->hold != Hold::open || seat->blocking > 0) continue;
    if (!is_kept(*seat)) settle(node, *seat);
  }
}

}  // namespace

void open_window(Node& node, Seat& seat) {
  Gpu& gpu = *seat.gpu;
  begin_hold(node, seat, Hold::open);
  if (gpu.has_windows()) {
    NVS_ASSERT(gpu.open == nullptr);
    gpu.open = &seat;
  }
  limit_credit(seat);
  if (seat.quota.account) trim_credit(seat, node.now);
  if (std::exchange(seat.woke, false)) {
    seat.service += scaled(kSwitchCost, seat.tenant->weight);
  }
  seat.by_floor = gpu.floors.is_due(seat.tenant->priority, span_of(gpu.policy));
  seat.opened = node.now;
  seat.used_before = seat.bill.used();
  seat.window_end = node.now;
  seat.ended_busy = false;
  ++seat.windows;
  seat.took_over = gpu.last_held && gpu.last_held != seat.tenant->id;
  if (gpu.last_held != seat.tenant->id) ++gpu.switches;
  gpu.last_held = seat.tenant->id;
  seat.terms = terms_for(gpu, seat, node.now);
  for (Gate* gate : seat.gates) {
    // One that was found open may be so beside others that lack memory.
    if (gate->state != GateState::closed || !gate->memory.is_complete()) continue;
    open_gate(node, *gate, seat.took_over && gpu.has_windows());
  }
  note_presence(node, seat);  // it is known by now whether it has work
  note_window_opened(gpu, node.now);
}

void join_window(Node& node, Gate& gate) {
  open_gate(node, gate, false);  // its tenant has the GPU
  settle(node, *gate.seat);
}

void end_window_here(Node& node, Seat& seat) {
  if (seat.hold != Hold::open) return;
  Gpu& gpu = *seat.gpu;
  gpu.account(node.now);
  seat.accrue(node.now);
  seat.ended_busy = seat.busy > 0;
  seat.hold = Hold::closing;
  if (gpu.open == &seat) gpu.open = nullptr;
  for (Gate* gate : seat.gates) {
    if (gate->state == GateState::open) begin_drain(node, *gate);
  }
  settle(node, seat);
}

void end_window(Node& node, Seat& seat) {
  if (!seat.in_gang) {
    end_window_here(node, seat);
    return;
  }
  for (const auto& other : seat.tenant->seats) {
    if (other && other->in_gang) end_window_here(node, *other);
  }
}

bool is_kept(const Seat& seat) {
  const bool given_up = seat.hold == Hold::open && seat.blocking == 0 && seat.closed > 0;
  if (!given_up) return false;
  return seat.in_gang ? !is_idle(seat) : seat.busy == 0 && has_serial_turn(seat);
}

Instant end_of_window(const Seat& seat) {
  if (seat.busy == 0 && has_serial_turn(seat)) return rests_until(seat);
  if (!seat.kept_since) return seat.window_end;
  return std::min(seat.window_end, *seat.kept_since + kGangMemory);
}

bool is_resting(const Seat& seat, Instant now) {
  if (seat.busy > 0 || !has_serial_turn(seat) || now >= end_of_window(seat)) return false;
  // Whoever comes back is opened at once: nobody may still be draining beside it.
  if (seat.gpu->holders.size() > 1) return false;
  const bool has_credit = !seat.quota.account || credit_of(seat, now) > Duration{};
  return has_credit && !lacks_quota(seat) && (is_protected(seat) || !a_higher_class_waits(seat));
}

void close_stray(Node& node, Gate& gate, Stray stray) {
  Seat& seat = *gate.seat;
  node.change(gate, [&node](Gate& it) {
    it.state = GateState::open;
    it.idle = false;
    it.wants = false;
    it.let_in = false;
    it.grant = node.fresh_grant();
  });
  if (stray == Stray::late) {
    ask_to_close(node, gate);
  } else {
    if (seat.hold == Hold::none) {
      begin_hold(node, seat, Hold::closing);
      seat.ended_busy = true;
    }
    begin_drain(node, gate);
  }
  settle(node, seat);
}

void settle(Node& node, Seat& seat) {
  const bool was_in_gang = seat.in_gang;
  const bool kept = is_kept(seat) && (seat.in_gang || is_resting(seat, node.now));
  const bool had_window = seat.hold != Hold::none;
  if (seat.hold != Hold::none && seat.blocking == 0 && !kept) release(node, seat);
  if (kept != seat.kept_since.has_value()) {
    seat.kept_since = kept ? std::optional(node.now) : std::nullopt;
    if (kept && !seat.in_gang) {
      seat.count_burst();
      seat.end_burst();
    }
  }
  if (seat.quota.account) note_quota(node, seat);
  const bool wants = seat.hold == Hold::none && seat.wanting > 0 && !seat.tenant->paused;
  const bool throttled = wants && lacks_quota(seat);
  const Joins how = note_throttled(seat, throttled, node.now);
  note_memory(node, seat);
  const bool waits = wants && !throttled && !lacks_memory(seat);
  if (waits && !seat.waiting) join_line(node, seat, had_window ? Joins::returning : how);
  if (!waits && seat.waiting) leave_line(node, seat);
  note_presence(node, seat);
  note_activity(node, seat);
  node.touch(*seat.gpu);
  if (was_in_gang) settle_kept(node, *seat.tenant);
}

void set_service(Node& node, Seat& seat, Service service) {
  seat.gpu->account(node.now);
  seat.accrue(node.now);
  if (seat.waiting) seat.gpu->line.remove(seat);
  seat.service = service;
  if (seat.waiting) seat.gpu->line.add(seat);
}

}  // namespace nvs::core
