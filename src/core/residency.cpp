// SPDX-License-Identifier: Apache-2.0
#include "core/residency.h"

#include <algorithm>

#include "core/gangs.h"
#include "core/memory_books.h"
#include "core/memory_moves.h"
#include "core/turns.h"
#include "core/windows.h"

namespace nvs::core {
namespace {

// What is decided may change what it was decided from. A step does not follow that for ever.
constexpr int kPassesMax = 4;
constexpr Duration kNextPass = Duration::from_ms(20);

// Who has memory there, for how long, and who waits for it.
void decide(Gpu& gpu, Division& division, Instant now) {
  GpuMemory& memory = gpu.memory;
  const bool had_turn = std::any_of(memory.seats.begin(), memory.seats.end(), [now](Seat* seat) {
    return seat->memory.base > 0 && has_turn_in_memory(*seat, Occasion::turn_goes_on, now);
  });
  division = divide_memory(gpu, Occasion::turn_goes_on, now);
  bool ends = false;
  if (memory.tight) {
    memory.turn.length = turn_length(gpu, now);
    if (gpu.quota.capped > 0) memory.turn.round = round_length(gpu, memory.turn.length);
    ends = leaves_out(division) && (is_turn_over(gpu, now) || is_standstill(division));
    if (ends) division = divide_memory(gpu, Occasion::turn_ends, now);
  } else {
    memory.turn.length = {};
    memory.turn.began.reset();
  }
  const Changes changes = settle_places(division, now);
  if (ends) {
    memory.turn.began = now;  // unless somebody has to come in first
  } else if (changes.sent_out && is_turn_over(gpu, now)) {
    // Nobody waited, and the turn went on. Whoever has to go now does not come back at once.
    memory.turn.began = now;
  }
  const bool renews = !had_turn || changes.sent_out;
  const bool changed = ends ? changes.any() : renews && !changes.came_in.empty();
  // A turn that nobody needs any more counts for whoever is passed over, as far as it went.
  if (ends || (memory.tight && changed)) count_passed(gpu, changes.came_in, now);
  if (memory.tight && changed) change_turn(gpu, now);
}

// Those whose gates were opened before their memory was there, on this GPU or another that they
// want, and have it now.
void let_join(Node& node, Seat& seat) {
  if (seat.hold != Hold::open || !seat.memory.in || lacks_memory(seat)) return;
  for (Gate* gate : seat.gates) {
    if (gate->state == GateState::closed && gate->wants && gate->memory.is_complete()) {
      join_window(node, *gate);
    }
  }
}

void settle_all(Node& node, Tenant& tenant) {
  for (const auto& seat : tenant.seats) {
    if (seat) settle(node, *seat);
  }
}

// Windows follow memory: whoever has to go is closed, whoever is complete stands in line.
void follow(Node& node, Seat& seat) {
  SeatMemory& memory = seat.memory;
  // What it has just been told may have changed that.
  memory.complete = std::all_of(seat.gates.begin(), seat.gates.end(),
                                [](const Gate* gate) { return gate->memory.is_complete(); });
  const bool outside = !memory.complete || !memory.in;
  const bool changed = std::exchange(memory.outside, outside) != outside;
  if (!memory.in && seat.hold == Hold::open) end_window(node, seat);
  if (outside && !seat.tenant->reserved.empty()) cancel_reservation(node, *seat.tenant);
  const bool waited = memory.waits;
  note_waits(seat, node.now);
  if (changed || waited != memory.waits) settle_all(node, *seat.tenant);
  for (const auto& other : seat.tenant->seats) {
    if (other && (changed || other.get() == &seat)) let_join(node, *other);
  }
}

// Its memory on other GPUs may be what it works on here, or not any more.
void tell_worked_on(Node& node, Seat& seat) {
  const bool at_work = is_at_work(seat);
  if (std::exchange(seat.told_at_work, at_work) == at_work) return;
  for (const auto& other : seat.tenant->seats) {
    if (!other || other.get() == &seat || !other->memory.told) continue;
    const bool worked = other->memory.works;
    note_work(*other, node.now);
    if (worked != other->memory.works && other->gpu->memory.tight) touch_memory(node, *other->gpu);
  }
}

std::optional<Instant> next_due(const Gpu& gpu, Instant now) {
  const GpuMemory& memory = gpu.memory;
  std::optional<Instant> at = stalls_at(gpu);
  const auto no_later_than = [&at](Instant other) { at = at ? std::min(*at, other) : other; };
  if (memory.shortage > 0) no_later_than(memory.shortage_since + kShortageStep);
  if (!memory.tight || memory.waiting == 0) return at;
  const Turn& turn = memory.turn;
  if (turn.began) {
    const Instant end = *turn.began + turn.length;
    if (end > now) no_later_than(end);
    // In serial mode a window that was begun is not cut short.
    if (end <= now && gpu.open != nullptr && gpu.open->window_end > now) {
      no_later_than(gpu.open->window_end);
    }
  }
  for (const Seat* seat : memory.seats) {
    if (seat->memory.in && !seat->memory.works && is_lively(*seat, now)) {
      no_later_than(lively_until(*seat));
    }
  }
  return at;
}

}  // namespace

GpuPolicy within_limits(GpuPolicy policy) {
  policy.window = std::clamp(policy.window, kWindowMin, kWindowMax);
  policy.quota_period = std::clamp(policy.quota_period, kQuotaPeriodMin, kQuotaPeriodMax);
  if (policy.turn) policy.turn = std::clamp(*policy.turn, kTurnMin, kTurnMax);
  return policy;
}

std::uint64_t usable_bytes(const Gpu& gpu) {
  if (gpu.capacity_bytes == 0) return kGpuBytesMost;
  const std::uint64_t left = gpu.capacity_bytes - std::min(gpu.memory.shortage, gpu.capacity_bytes);
  return std::max(left, std::min(gpu.memory.largest, gpu.capacity_bytes));
}

void touch_memory(Node& node, Gpu& gpu) {
  if (gpu.memory.seats.empty()) return;
  gpu.memory.dirty = true;
  node.touch(gpu);
}

void on_memory_held(Node& node, Gate& gate, const MemoryHeld& event) {
  Seat& seat = *gate.seat;
  enter_memory(seat, event.away == 0);
  note_held(gate, event, node.now);
  if (event.is_short) note_shortage(*seat.gpu, gate, event.number, node.now);
  // Whether a cap counts depends on what is asked for.
  seat.quota.account ? settle(node, seat) : note_memory(node, seat);
  touch_memory(node, *seat.gpu);
}

void set_capacity(Node& node, Gpu& gpu, std::uint64_t bytes) {
  gpu.capacity_bytes = bytes;
  forget_shortage(gpu, node.now);
  touch_memory(node, gpu);
}

void forget_memory(Node& node, Gate& gate) {
  Seat& seat = *gate.seat;
  Gpu& gpu = *seat.gpu;
  if (gate.memory.told) forget_shortage(gpu, node.now);  // it may have been this client's
  gate.memory = {};
  leave_memory(seat);
  if (seat.gates.size() == 1) --gpu.tenants;
  gpu.memory.dirty = true;
  node.touch(gpu);
}

void note_memory(Node& node, Seat& seat) {
  SeatMemory& memory = seat.memory;
  tell_worked_on(node, seat);
  if (!memory.told) return;
  note_work(seat, node.now);
  // What stays put limits what anybody may ask for at all, whether or not memory is tight.
  const std::uint32_t unmoved = seat.beside + seat.silent;
  const bool limits = std::exchange(memory.unmoved, unmoved) != unmoved;
  if (limits) touch_memory(node, *seat.gpu);
  const std::uint32_t seen = look_at(seat);
  if (std::exchange(memory.seen, seen) == seen && !limits) return;
  if (seat.gpu->memory.tight || memory.outside) touch_memory(node, *seat.gpu);
  if (!memory.outside) return;
  for (const auto& other : seat.tenant->seats) {
    if (!other || other.get() == &seat) continue;
    settle(node, *other);
    let_join(node, *other);
  }
}

bool lacks_memory(const Seat& seat) {
  if (seat.memory.outside) return true;
  const auto& seats = seat.tenant->seats;
  return std::any_of(seats.begin(), seats.end(), [](const auto& other) {
    return other && other->memory.outside && other->wanting > 0 && other->hold == Hold::none;
  });
}

void manage_memory(Node& node, Gpu& gpu) {
  GpuMemory& memory = gpu.memory;
  if (!memory.dirty) return;
  if (memory.passes == kPassesMax) {
    memory.due = node.now + kNextPass;
    return;
  }
  ++memory.passes;
  memory.dirty = false;
  memory.due.reset();
  memory.waiting = 0;
  const bool ticked = std::exchange(memory.ticked, false);
  if (memory.seats.empty()) {
    memory.tight = false;
    memory.shortage = 0;
    return;
  }
  if (ticked) note_time_passed(gpu, node.now);
  sum_up(gpu, node.now);
  Division division;
  decide(gpu, division, node.now);
  carry_out(node, gpu, division);
  // A window that ends may end another one's wait, and change the list.
  const std::vector<Seat*> seats = memory.seats;
  for (Seat* seat : seats) follow(node, *seat);
  for (const Seat* seat : seats) {
    const bool here = seat->memory.outside || seat->memory.asked > 0;
    memory.waiting += memory.tight && seat->memory.waits && here ? 1 : 0;
  }
  begin_turn(gpu, node.now);
  memory.due = next_due(gpu, node.now);
}

}  // namespace nvs::core
