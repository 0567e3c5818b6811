// SPDX-License-Identifier: Apache-2.0
// What the process has of a GPU that cannot be moved, as far as it knows. Memory that it
// opened is its maker's, and in none of these.
#pragma once

#include <cstdint>

namespace nvs::interposer::memory {

// By us or by the driver, that is: managed memory goes when somebody needs its room.
std::uint64_t fixed_on(int gpu);
// The same without what is kept for graphs, of which programs see what their nodes ask for.
std::uint64_t fixed_in_books(int gpu);
// What graphs that are gone have left; a part of what is kept for graphs.
std::uint64_t left_by_graphs(int gpu);
// What was allocated as device memory and is Unified Memory; that, and what was so from the start.
std::uint64_t unified_on(int gpu);
std::uint64_t managed_on(int gpu);
// All that is in the books, with what can be moved.
std::uint64_t allocated_on(int gpu);

}  // namespace nvs::interposer::memory
