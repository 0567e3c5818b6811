// SPDX-License-Identifier: Apache-2.0
#include "core/memory_books.h"

#include <algorithm>

#include "core/residency.h"

namespace nvs::core {
namespace {

template <class Do>
void for_each_told(const Gpu& gpu, Do do_it) {
  for (const Seat* seat : gpu.memory.seats) {
    for (Gate* gate : seat->gates) {
      if (gate->memory.told) do_it(*gate);
    }
  }
}

// It has to move something, or to say that it goes by less.
bool has_to_move(const GateMemory& memory) {
  if (!memory.allowances.any()) return false;
  const std::uint64_t allowed = memory.allowances.bytes();
  if (memory.committed() > allowed) return true;
  // A chunk comes in whole or not at all.
  const std::uint64_t room = allowed - std::min(allowed, memory.resident);
  return memory.away > 0 && room > 0 && (room >= memory.away || room >= kMemoryStep);
}

// It does all that it was told, as far as there is memory for it.
bool is_starving(const GateMemory& memory) {
  return memory.is_short && memory.allowances.is_answered() &&
         memory.resident <= memory.allowances.bytes();
}

// When it is not waited for any more, or tries again.
std::optional<Instant> stalls_at(const GateMemory& memory) {
  const bool tries = !memory.stuck && has_to_move(memory);
  if (!tries || (memory.starves_until && is_starving(memory))) return memory.starves_until;
  const Instant stalls = memory.moved + kMoveStall;
  return memory.starves_until ? std::min(stalls, *memory.starves_until) : stalls;
}

void add_up(Seat& seat) {
  SeatMemory& sum = seat.memory;
  sum.base = sum.asked = sum.promised = sum.fixed = sum.away = 0;
  sum.stuck = false;
  sum.complete = true;
  for (const Gate* gate : seat.gates) {
    const GateMemory& one = gate->memory;
    sum.fixed += one.fixed;
    sum.away += one.away;
    sum.complete = sum.complete && one.is_complete();
    sum.stuck = sum.stuck || (one.starves_until && !one.is_complete());
    if (!stays_put(*gate)) {
      sum.base += one.base();
      (is_promised(one) ? sum.promised : sum.asked) += one.asked;
    } else {
      // One that answers gives back what it may have beyond that.
      sum.fixed += one.stuck ? one.committed() : one.resident;
      sum.asked += one.stuck ? 0 : one.asked;
      sum.stuck = sum.stuck || !one.is_complete();
    }
  }
}

// What the GPU has to have for each tenant to be complete at some time. A moment without memory in
// the middle of a move must not make anybody wait for what it will never have.
std::uint64_t largest_need(const Gpu& gpu) {
  std::uint64_t largest = 0;
  std::uint64_t fixed = 0;
  for_each_told(gpu, [&fixed](const Gate& gate) { fixed += gate.memory.fixed; });
  for (const Seat* seat : gpu.memory.seats) {
    std::uint64_t need = fixed;
    for (const Gate* gate : seat->gates) need += gate->memory.need();
    if (need <= gpu.capacity_bytes) largest = std::max(largest, need);
  }
  return largest;
}

}  // namespace

void enter_memory(Seat& seat, bool complete) {
  if (std::exchange(seat.memory.told, true)) return;
  std::vector<Seat*>& seats = seat.gpu->memory.seats;
  const auto after = std::find_if(seats.begin(), seats.end(), [&seat](const Seat* other) {
    return other->tenant->id > seat.tenant->id;
  });
  seats.insert(after, &seat);
  seat.memory.in = complete || seat.hold == Hold::open;  // whoever runs is the last to go
  seat.memory.rested = seat.memory.in_since = seat.gpu->accounted;
}

void leave_memory(Seat& seat) {
  const auto told = [](const Gate* gate) { return gate->memory.told; };
  if (!seat.memory.told || std::any_of(seat.gates.begin(), seat.gates.end(), told)) return;
  std::erase(seat.gpu->memory.seats, &seat);
  if (seat.memory.waits) seat.memory_wait += seat.gpu->accounted - seat.memory.waits_since;
  seat.memory = {};
}

void note_held(Gate& gate, const MemoryHeld& told, Instant now) {
  MemoryHeld event = told;
  for (std::uint64_t* bytes : {&event.resident, &event.away, &event.fixed, &event.asked}) {
    *bytes = std::min(*bytes, kGpuBytesMost);
  }
  GateMemory& memory = gate.memory;
  const std::uint64_t most = memory.allowances.most();
  memory.allowances.acknowledge(event.number);
  if (memory.told) {
    const std::uint64_t down = memory.resident - std::min(memory.resident, event.resident);
    const std::uint64_t up = event.resident - std::min(memory.resident, event.resident);
    const std::uint64_t out = event.away - std::min(memory.away, event.away);
    const std::uint64_t in = memory.away - std::min(memory.away, event.away);
    GpuMemory& on = gate.seat->gpu->memory;
    on.moved_out += std::min(down, out);
    on.moved_in += std::min(up, in);
  }
  // Or it was told anew that it may have what it did not give back.
  const bool obeys =
      memory.allowances.is_latest(event.number) && event.resident <= memory.allowances.bytes();
  const bool moves = event.resident != memory.resident || most != memory.allowances.most();
  if (!memory.told || moves || (memory.stuck && obeys)) {
    memory.begin_to_move(now);
    memory.stuck = false;
  }
  memory.is_short = memory.is_short || event.is_short;
  if (event.away == 0 || event.resident > memory.resident) memory.starves_until.reset();
  memory.told = true;
  memory.resident = event.resident;
  memory.away = event.away;
  memory.fixed = event.fixed;
  memory.asked = event.asked;
  memory.is_faulted = event.is_faulted;
  memory.stays = event.stays;
  memory.reached = event.reached;
}

void note_shortage(Gpu& gpu, const Gate& gate, std::uint64_t number, Instant now) {
  const GateMemory& memory = gate.memory;
  const std::uint64_t allowed = memory.allowances.bytes();
  const bool lacks = memory.away + memory.asked > 0 && memory.resident < allowed;
  if (!lacks || !memory.allowances.is_latest(number)) return;
  std::uint64_t held = 0;
  for_each_told(gpu, [&held](const Gate& one) { held += one.memory.resident + one.memory.fixed; });
  const std::uint64_t less = std::max(allowed - memory.resident, kMemoryStep);
  const std::uint64_t usable = usable_bytes(gpu);
  const std::uint64_t least = std::min(std::max(held, largest_need(gpu)), usable);
  gpu.memory.shortage += std::min(less, usable - least);
  gpu.memory.shortage_since = now;
}

void forget_shortage(Gpu& gpu, Instant now) {
  gpu.memory.shortage = 0;
  for_each_told(gpu, [now](Gate& gate) {
    if (!std::exchange(gate.memory.starves_until, std::nullopt)) return;
    gate.memory.begin_to_move(now);
  });
}

void note_time_passed(Gpu& gpu, Instant now) {
  for_each_told(gpu, [now](Gate& gate) {
    GateMemory& memory = gate.memory;
    const std::optional<Instant> at = stalls_at(memory);
    if (!at || now < *at) return;
    if (memory.starves_until == at) {
      memory.starves_until.reset();
      memory.begin_to_move(now);
    } else if (is_starving(memory)) {
      memory.starves_until = now + kShortageStep;
    } else {
      memory.stuck = true;
    }
  });
  GpuMemory& memory = gpu.memory;
  if (memory.shortage == 0 || now < memory.shortage_since + kShortageStep) return;
  memory.shortage -= std::min(memory.shortage, std::max(memory.shortage / 2, kMemoryStep));
  memory.shortage_since = now;
}

std::optional<Instant> stalls_at(const Gpu& gpu) {
  std::optional<Instant> at;
  for_each_told(gpu, [&at](const Gate& gate) {
    const std::optional<Instant> stalls = stalls_at(gate.memory);
    if (stalls) at = at ? std::min(*at, *stalls) : *stalls;
  });
  return at;
}

bool stays_put(const Gate& gate) {
  const GateMemory& memory = gate.memory;
  return memory.stuck || memory.is_faulted || memory.stays || gate.state == GateState::loose ||
         gate.state == GateState::late || gate.state == GateState::silent;
}

bool asks_for_more(const Seat& seat) {
  return std::any_of(seat.gates.begin(), seat.gates.end(),
                     [](const Gate* gate) { return gate->memory.asked > 0; });
}

bool is_promised(const GateMemory& memory) {
  return memory.allowances.any() && memory.allowances.bytes() >= memory.need();
}

// Whoever has had its share for now may have no use for its place until it runs again.
bool is_at_work(const Seat& seat) {
  return seat.busy > 0 || (seat.wanting > 0 && !seat.quota.waits);
}

bool is_worked_on(const Seat& seat) {
  const bool is_reached = std::any_of(seat.gates.begin(), seat.gates.end(),
                                      [](const Gate* gate) { return gate->memory.reached; });
  const auto& seats = seat.tenant->seats;
  return is_reached && std::any_of(seats.begin(), seats.end(), [&seat](const auto& other) {
           return other && other.get() != &seat && is_at_work(*other);
         });
}

void note_work(Seat& seat, Instant now) {
  const bool works = is_at_work(seat) || asks_for_more(seat) || is_worked_on(seat);
  if (std::exchange(seat.memory.works, works) && !works) seat.memory.rested = now;
}

void note_waits(Seat& seat, Instant now) {
  SeatMemory& memory = seat.memory;
  const bool wants = seat.wanting > 0 && seat.hold == Hold::none && !seat.quota.waits;
  const bool waits = !seat.tenant->paused && !memory.impossible &&
                     (memory.asked > 0 || (wants && lacks_memory(seat)));
  if (waits && !memory.waits) memory.waits_since = now;
  if (!waits && memory.waits) seat.memory_wait += now - memory.waits_since;
  memory.waits = waits;
}

std::uint32_t look_at(const Seat& seat) {
  std::uint32_t seen = 0;
  if (seat.memory.works) seen |= 1U;
  // Who asks for more and does nothing else is at a standstill.
  if ((seat.wanting > 0 || seat.busy > 0) && asks_for_more(seat)) seen |= 2U;
  // Where its memory is, windows come and go without further notice.
  if (!seat.memory.outside) return seen;
  if (seat.wanting > 0) seen |= 4U;
  seen |= static_cast<std::uint32_t>(seat.hold) << 4U;
  return seen;
}

bool is_memory_awaited(const Gpu& gpu, const Seat& of) {
  const std::vector<Seat*>& seats = gpu.memory.seats;
  return std::any_of(seats.begin(), seats.end(), [&of](const Seat* seat) {
    if (seat == &of || seat->tenant->paused) return false;
    return std::any_of(seat->gates.begin(), seat->gates.end(), [](const Gate* gate) {
      return gate->memory.asked > 0 || (gate->memory.away > 0 && gate->wants);
    });
  });
}

std::uint64_t movable_bytes(const Gpu& gpu) {
  std::uint64_t left = usable_bytes(gpu);
  for (const Seat* seat : gpu.memory.seats) left -= std::min(left, seat->memory.fixed);
  return left;
}

std::uint64_t committed_bytes(const Gpu& gpu) {
  std::uint64_t sum = 0;
  for_each_told(gpu,
                [&sum](const Gate& gate) { sum += gate.memory.committed() + gate.memory.fixed; });
  return sum;
}

void sum_up(Gpu& gpu, Instant now) {
  for (Seat* seat : gpu.memory.seats) add_up(*seat);
  gpu.memory.largest = largest_need(gpu);
  const std::uint64_t movable = movable_bytes(gpu);
  std::uint64_t needed = 0;
  for (Seat* seat : gpu.memory.seats) {
    SeatMemory& memory = seat->memory;
    memory.impossible = memory.base > movable;
    // What can never be had does not count as asked for.
    const std::uint64_t left = movable - std::min(movable, memory.base);
    if (memory.promised > left) memory.asked += std::exchange(memory.promised, 0);
    if (memory.asked > left - memory.promised) memory.asked = 0;
    needed += memory.base + memory.promised + memory.asked;
    note_work(*seat, now);
    note_waits(*seat, now);
  }
  gpu.memory.tight = needed > movable;
}

}  // namespace nvs::core
