// SPDX-License-Identifier: Apache-2.0
// Which chunks move next, so that a process has as much memory on a device as it is allowed. Out go
// the newest regions first, of a region those that cost no copy before the others, and of these
// the last one first. In come exactly the ones that would go last, first. So the same memory moves
// each time, and only as much of it as must. Pure.
#pragma once

#include <cstdint>

#include "interposer/memory/vmm/region_table.h"

namespace nvs::interposer::vmm {

// What is left to plan, once all that is on the move has arrived; one of them is 0.
struct Need {
  std::uint64_t out = 0;  // must leave
  std::uint64_t in = 0;   // there is room for so much, and that much is away
};
// `unevictable`: what the process has on the device besides regions; it is part of what is allowed.
Need need_of(const Sums& sums, std::uint64_t unevictable, std::uint64_t allowed);

struct Move {
  Region* region = nullptr;
  std::uint32_t chunk = 0;
  std::uint64_t bytes = 0;
};

struct Plan {
  std::uint32_t moves = 0;
  std::uint64_t bytes = 0;
};

// At most `moves_max` of the chunks to move, in the order in which to move them. Those planned here
// must have begun before the next plan is made.
//
// Out: at least `bytes`, if there are so many and there is room for the moves, and none that could
// stay without going below. In: at most `bytes`; a chunk that is too large is passed over.
Plan plan_out(const RegionTable& table, int device, std::uint64_t bytes, Move* moves,
              std::uint32_t moves_max);
Plan plan_in(const RegionTable& table, int device, std::uint64_t bytes, Move* moves,
             std::uint32_t moves_max);

}  // namespace nvs::interposer::vmm
