// SPDX-License-Identifier: Apache-2.0
// Room for more: by the daemon's word, by what programs are to see, and by what the driver has.
// What was freed and kept for later goes first. All of it without the lock.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::swap {

// Reserves room for so much, waiting for it if need be; `asks`: that is asked for already. False:
// there is no such room for us.
bool take_room(int gpu, std::uint64_t bytes, bool asks);
void give_room(int gpu, std::uint64_t bytes);
// Room where the driver has nothing is not taken for ours, or nobody would ever find out what is
// missing: it counts as asked for until it is taken again; or as much as `anew` instead.
void ask_again(int gpu, std::uint64_t bytes, std::uint64_t anew);
// Whether others use the GPU.
bool is_shared(int gpu);

// Pages for one chunk. What others hold too long on their way out is waited for.
CUresult back_patiently(int gpu, std::uint64_t address, std::uint64_t bytes, std::uint64_t& handle);
// The daemon is to know whether the driver has what is allowed.
void set_short(int gpu, bool is_short);

}  // namespace nvs::interposer::swap
