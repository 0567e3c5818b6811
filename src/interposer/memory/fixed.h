// SPDX-License-Identifier: Apache-2.0
// What the process has of a GPU that cannot be moved, as far as its books know. Memory that it
// opened is its maker's, and in none of these.
#pragma once

#include <cstdint>

namespace nvs::interposer::memory {

// By us or by the driver, that is: managed memory goes when somebody needs its room.
std::uint64_t fixed_on(int gpu);
// What was allocated as device memory and is Unified Memory; that, and what was so from the start.
std::uint64_t unified_on(int gpu);
std::uint64_t managed_on(int gpu);
// All of these, and what can be moved.
std::uint64_t allocated_on(int gpu);

}  // namespace nvs::interposer::memory
