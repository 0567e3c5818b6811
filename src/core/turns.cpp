// SPDX-License-Identifier: Apache-2.0
#include "core/turns.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "core/choice.h"
#include "core/residency.h"

namespace nvs::core {
namespace {

constexpr std::uint64_t kRateMin = 500'000'000;
constexpr std::uint64_t kRateMax = 200'000'000'000;
// Less says nothing about the rate.
constexpr std::uint64_t kBytesToLearnFrom = 4 * kMemoryStep;

constexpr std::int64_t kWholeTurn = 1'000'000;
constexpr std::array<int, kPriorities> kPassedMax = {kTurnsPassedLow, kTurnsPassedNormal, 0};

Duration time_to_move(const Gpu& gpu, std::uint64_t bytes) {
  const std::uint64_t rate_per_ms = gpu.memory.turn.rate / 1000;
  return Duration::from_us(static_cast<std::int64_t>(bytes / (rate_per_ms / 1000)));
}

// A gang waits on all its GPUs for as long as on the first, and so comes first on all of them.
Instant age_of(const Seat& seat) {
  Instant since = seat.memory.waits_since;
  for (const auto& other : seat.tenant->seats) {
    if (other && other->memory.waits) since = std::min(since, other->memory.waits_since);
  }
  return since;
}

bool is_due(const Seat& seat) {
  if (!seat.memory.waits || seat.tenant->priority == Priority::high) return false;
  const std::size_t index = class_of(seat);
  return seat.gpu->memory.turn.passed[index] >= kPassedMax[index] * kWholeTurn;
}

int rank_of(const Seat& seat, Occasion occasion, Instant now) {
  const SeatMemory& memory = seat.memory;
  if (seat.tenant->paused) return 5;
  if (memory.impossible) return 4;
  if (memory.stuck) return 3;
  if (has_turn_in_memory(seat, occasion, now)) return 0;
  if (memory.waits || (memory.in && is_lively(seat, now))) return 1;
  return memory.in ? 2 : 3;
}

// In ascending order; what means nothing for a rank is the same for all of it.
using Key = std::tuple<int, bool, int, bool, std::int64_t, TenantId>;

Key key_of(const Seat& seat, Occasion occasion, Instant now) {
  const int rank = rank_of(seat, occasion, now);
  const TenantId id = seat.tenant->id;
  // If they do not all fit any more, whoever runs now is the last to go.
  if (rank == 0) return {rank, seat.hold != Hold::open, 0, false, seat.memory.in_since.ns(), id};
  if (rank != 1) return {rank, false, 0, false, -seat.memory.rested.ns(), id};
  const bool waits = seat.memory.waits;
  return {rank,
          !is_due(seat),
          -static_cast<int>(seat.tenant->priority),
          !waits,
          waits ? age_of(seat).ns() : seat.service_at(now),
          id};
}

// What has to come in at the next change, as far as can be said now.
std::uint64_t bytes_to_come(const Gpu& gpu) {
  std::uint64_t bytes = 0;
  for (const Seat* seat : gpu.memory.seats) {
    const SeatMemory& memory = seat->memory;
    if (memory.waits && !memory.impossible) bytes += memory.away + memory.asked;
  }
  return std::min(bytes, usable_bytes(gpu));
}

bool is_to_come(const Seat& seat, Instant now) {
  const SeatMemory& memory = seat.memory;
  if (!memory.in || memory.stuck || seat.tenant->paused || !is_lively(seat, now)) return false;
  return !memory.complete || (memory.asked > 0 && memory.grants_ask);
}

void learn_rate(GpuMemory& memory, Instant now) {
  Turn& turn = memory.turn;
  const std::int64_t us = (now - turn.changed).ns() / 1000;
  const std::uint64_t bytes = memory.moved_in - turn.moved_in;
  if (turn.number == 0 || bytes < kBytesToLearnFrom || us <= 0) return;
  const std::uint64_t rate =
      std::clamp(bytes / static_cast<std::uint64_t>(us) * 1'000'000, kRateMin, kRateMax);
  // What is fast once does not count: most of it may have been there, or words were late.
  turn.rate = (turn.rate + std::min(rate, turn.last_rate)) / 2;
  turn.last_rate = rate;
}

}  // namespace

Instant lively_until(const Seat& seat) {
  const Duration move = time_to_move(*seat.gpu, seat.memory.base);
  // Of one that has had its share it is known when it comes back.
  if (seat.quota.returning) {
    const Instant back = seat.gpu->quota.clock.when(seat.quota.back);
    if (back - seat.memory.rested > move) return seat.memory.rested;
  }
  return seat.memory.rested + std::max(kRestMin, move);
}

bool is_lively(const Seat& seat, Instant now) {
  return seat.memory.works || now < lively_until(seat);
}

bool has_turn_in_memory(const Seat& seat, Occasion occasion, Instant now) {
  return occasion == Occasion::turn_goes_on && seat.memory.in && !seat.tenant->paused &&
         !seat.memory.impossible && !seat.memory.stuck && is_lively(seat, now);
}

std::vector<Seat*> order_of_memory(const Gpu& gpu, Occasion occasion, Instant now) {
  std::vector<std::pair<Key, Seat*>> keyed;
  keyed.reserve(gpu.memory.seats.size());
  for (Seat* seat : gpu.memory.seats) keyed.emplace_back(key_of(*seat, occasion, now), seat);
  std::sort(keyed.begin(), keyed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Seat*> order;
  order.reserve(keyed.size());
  for (const auto& [key, seat] : keyed) order.push_back(seat);
  return order;
}

// How many turns it takes until everybody who has work has had one.
std::int64_t turns_in_round(const Gpu& gpu) {
  std::int64_t in = 0;
  std::int64_t all = 0;
  for (const Seat* seat : gpu.memory.seats) {
    const SeatMemory& memory = seat->memory;
    const bool has_work = memory.works || seat->quota.waits;
    if (!has_work || memory.impossible || seat->tenant->paused) continue;
    ++all;
    in += memory.in ? 1 : 0;
  }
  in = std::max<std::int64_t>(in, 1);
  return std::max<std::int64_t>((all + in - 1) / in, 1);
}

Duration round_length(const Gpu& gpu, Duration turn) { return turn * turns_in_round(gpu); }

// As short as may be, and longer, so that less is lost, as long as nobody waits for long.
Duration turn_length(const Gpu& gpu, Instant) {
  if (stay_of(gpu.policy) == Stay::turn) return span_of(gpu.policy);
  if (gpu.policy.turn) return *gpu.policy.turn;
  const Turn& turn = gpu.memory.turn;
  const Duration swap = time_to_move(gpu, std::max(turn.bytes, bytes_to_come(gpu)));
  const Duration least = std::max({kTurnMin, swap * kTurnSwaps, turn.stall * kTurnStalls});
  const Duration most =
      std::min(turn.stall * kTurnStallsWished, kRoundWished / turns_in_round(gpu));
  return std::max(least, most);
}

bool is_turn_over(const Gpu& gpu, Instant now) {
  const Turn& turn = gpu.memory.turn;
  if (!turn.began || now < *turn.began + turn.length) return false;
  const Seat* holder = gpu.open;
  if (stay_of(gpu.policy) != Stay::turn || holder == nullptr) return true;
  return now >= holder->window_end || is_idle(*holder);
}

void change_turn(Gpu& gpu, Instant now) {
  Turn& turn = gpu.memory.turn;
  ++turn.number;
  turn.began.reset();
  turn.changed = now;
  turn.bytes = 0;
  turn.moved_in = gpu.memory.moved_in;
  for (const Seat* seat : gpu.memory.seats) {
    if (is_to_come(*seat, now)) turn.bytes += seat->memory.away + seat->memory.asked;
  }
  const bool goes_on = std::any_of(gpu.holders.begin(), gpu.holders.end(), [](const Seat* seat) {
    return seat->hold == Hold::open && seat->memory.in;
  });
  const bool asks =
      std::any_of(gpu.memory.seats.begin(), gpu.memory.seats.end(),
                  [now](Seat* seat) { return is_to_come(*seat, now) && seat->memory.asked > 0; });
  turn.stalls = !goes_on && !asks;  // how long a program takes to allocate says nothing
  turn.stalled = now;
  if (goes_on) {
    turn.stall = turn.stall / 2;
    turn.last_stall = turn.stall;
  }
}

void begin_turn(Gpu& gpu, Instant now) {
  Turn& turn = gpu.memory.turn;
  if (turn.began || !gpu.memory.tight) return;
  for (const Seat* seat : gpu.memory.seats) {
    if (is_to_come(*seat, now)) return;
  }
  learn_rate(gpu.memory, now);
  turn.began = now;
}

void count_passed(Gpu& gpu, const std::vector<Seat*>& came_in, Instant now) {
  Turn& turn = gpu.memory.turn;
  const Duration had = std::min(now - std::exchange(turn.passed_since, now), turn.length);
  const std::int64_t part = had.ns() / (turn.length.ns() / kWholeTurn);
  std::array<bool, kPriorities> waits{};
  std::array<bool, kPriorities> came{};
  for (const Seat* seat : gpu.memory.seats) {
    if (seat->memory.waits && !seat->memory.impossible) waits[class_of(*seat)] = true;
  }
  for (const Seat* seat : came_in) came[class_of(*seat)] = true;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    turn.passed[i] = waits[i] && !came[i] ? turn.passed[i] + part : 0;
  }
}

void note_window_ended(Gpu& gpu, Instant now) {
  if (gpu.memory.turn.stalls) gpu.memory.turn.stalled = now;
}

void note_window_opened(Gpu& gpu, Instant now) {
  Turn& turn = gpu.memory.turn;
  if (!std::exchange(turn.stalls, false)) return;
  // What is slow once, as the first time is, does not count.
  const Duration stall = now - turn.stalled;
  turn.stall = turn.last_stall ? std::min(stall, *turn.last_stall) : Duration{};
  turn.last_stall = stall;
}

}  // namespace nvs::core
