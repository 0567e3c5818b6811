// SPDX-License-Identifier: Apache-2.0
// When device memory is Unified Memory: if the user lets a process have more than the GPU has, or
// if a daemon shares a GPU whose driver cannot map memory piece by piece.
#pragma once

#include <cstdint>

namespace nvs::interposer::unified {

// NVSHARE_ENABLE_SINGLE_OVERSUB.
void configure(bool may_exceed);
bool may_exceed();

// Whether what the calling thread allocates now is for us, and on which GPU.
bool is_for_us(int& gpu);

// Whether any such memory was allocated there under a daemon. Stays so.
bool is_used(int gpu);
void set_used(int gpu);

// What the GPU really has; 0 if the driver does not say.
std::uint64_t card_bytes(int gpu);

void forget_use_in_child();

}  // namespace nvs::interposer::unified
