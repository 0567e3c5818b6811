// SPDX-License-Identifier: Apache-2.0
// The memory of one GPU: who has some, what is known of its size, and the turn that those who do
// not all fit have now.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "core/policy.h"

namespace nvs::core {

struct Seat;

// Those that are in have a turn; then others come in.
struct Turn {
  std::uint64_t number = 0;
  std::optional<Instant> began;  // nothing while somebody is still to come in
  Duration length;               // as it was last reckoned
  Duration round;                // until everybody has had one; only where there are caps
  // For how much of turns, in millionths, a class has waited and nobody of it came in.
  std::array<std::int64_t, kPriorities> passed{};
  Instant passed_since;  // when that was last counted

  // What is learnt from changes of turns.
  std::uint64_t rate = kSwapRate;  // bytes a second
  std::uint64_t last_rate = kSwapRate;
  std::uint64_t bytes = 0;     // that had to come in at the latest one, or were asked for
  std::uint64_t moved_in = 0;  // of the GPU, before it
  Instant changed;
  bool stalls = false;  // no window has opened since
  Instant stalled;      // from when on nobody ran
  Duration stall;       // of late: the shorter one of the last two
  std::optional<Duration> last_stall;
};

struct GpuMemory {
  std::vector<Seat*> seats;    // that told what they have, in the order of tenants
  bool dirty = false;          // something was told or decided that memory depends on
  int passes = 0;              // how often it was decided anew in this step
  bool ticked = false;         // by time: whoever did not move has had its chance
  bool tight = false;          // they do not all fit
  std::uint32_t waiting = 0;   // seats that wait for memory
  std::uint64_t shortage = 0;  // what the driver did not have of the capacity
  Instant shortage_since;
  std::uint64_t largest = 0;  // what some tenant needs, and a shortage does not take from it
  std::uint64_t moved_out = 0;
  std::uint64_t moved_in = 0;
  Turn turn;
  std::optional<Instant> due;  // when time alone changes something
};

}  // namespace nvs::core
