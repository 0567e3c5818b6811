// SPDX-License-Identifier: Apache-2.0
// How large a shared GPU is to a program, and how much of it is free: the daemon says the one, and
// the other is what its tenant has not allocated, on the GPU or not. What other tenants have is
// none of its business, and it may have their room too; but for what cannot be moved, and what
// programs have that go round nvshare: that is not to be had. Neither is more than its tenant's
// limit leaves.
#pragma once

#include <cstdint>

#include "interposer/memory/account.h"

namespace nvs::interposer::memory {

struct Visible {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t used() const { return total - free; }
};

// No more than a limit leaves.
void narrow_to(const account::Limit& limit, Visible& visible);

// In place of what the driver says; false: it stays. Waits for the daemon's word the first time,
// for a moment.
bool find_visible(int gpu, Visible& visible);

}  // namespace nvs::interposer::memory
