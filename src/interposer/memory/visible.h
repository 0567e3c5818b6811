// SPDX-License-Identifier: Apache-2.0
// How large a shared GPU is to a program, and how much of it is taken: the daemon says the one, and
// the other is what the program itself has allocated, on the GPU or not. What other tenants have is
// none of its business, and it may have their room too.
#pragma once

#include <cstdint>

namespace nvs::interposer::memory {

struct Visible {
  std::uint64_t total = 0;
  std::uint64_t used = 0;
  std::uint64_t free() const { return total > used ? total - used : 0; }
};

// False: as the driver says. Waits for the daemon's word the first time, for a moment.
bool find_visible(int gpu, Visible& visible);

}  // namespace nvs::interposer::memory
