// SPDX-License-Identifier: Apache-2.0
// Device memory made of Unified Memory. Programs see ordinary device memory.
#pragma once

#include <cstdint>

#include "interposer/memory/reservation.h"
#include "interposer/memory/swap/allocate.h"
#include "interposer/memory/swap/query.h"

namespace nvs::interposer::unified {

// What the program asked for, where rows have a pitch, and what was reserved for it.
struct Charge {
  std::uint64_t asked;
  memory::Reservation& reserved;
};

// For the current context of the calling thread, whose GPU it is; written down in the books. May
// wait until the daemon has room for what it counts as.
swap::Got allocate(int gpu, std::uint64_t bytes, std::uint64_t& address, const Charge& charge);

// The allocation of ours with this address in it; false if it is none.
bool find(std::uint64_t address, swap::Named& named);

void forget_allocations_in_child();

}  // namespace nvs::interposer::unified
