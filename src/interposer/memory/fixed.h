// SPDX-License-Identifier: Apache-2.0
// What the process has of a GPU that cannot be moved, as far as its books know.
#pragma once

#include <cstdint>

namespace nvs::interposer::memory {

std::uint64_t fixed_on(int gpu);
// That and what can be moved.
std::uint64_t allocated_on(int gpu);

}  // namespace nvs::interposer::memory
