// SPDX-License-Identifier: Apache-2.0
// Room for more: by the daemon's word, by what programs are to see, and by what the driver has.
// What was freed and kept for later goes first. All of it without the lock.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::swap {

// Reserves room for so much, waiting for it if need be. False: there is no such room for us.
bool take_room(int gpu, std::uint64_t bytes);
void give_room(int gpu, std::uint64_t bytes);

// Pages for one chunk. What others hold too long on their way out is waited for.
CUresult back_patiently(int gpu, std::uint64_t address, std::uint64_t bytes, std::uint64_t& handle);
// The daemon is to know whether the driver has what is allowed.
void set_short(int gpu, bool is_short);

}  // namespace nvs::interposer::swap
