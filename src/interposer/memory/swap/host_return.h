// SPDX-License-Identifier: Apache-2.0
// Segments of host memory on their way back: the driver forgets them piece by piece, then they are
// unmapped and the daemon is told. One at a time, by the thread of host.h.
#pragma once

#include <cstdint>

namespace nvs::interposer::swap {

// With the lock held. Takes an empty segment of no more than `spare` bytes, so that nothing can be
// placed there any more: its size, or 0 if there is none or another one is on its way.
std::uint64_t begin_return(std::uint64_t spare);

// The same of one that could not be used. `mapped_at` 0: it is not mapped. False: another one is on
// its way.
bool begin_return_of(std::uint64_t number, std::uint64_t bytes, std::uint64_t mapped_at);

enum class Returned : std::uint8_t { nothing, piece, segment, stuck };
// The next step, without the lock. Stuck: try again later.
Returned return_some();

// With the lock held. The daemon is gone: what it had lent, `bytes` and what is on its way back, is
// kept from now on, and the next one hears of it. Then: how much of that is left.
void host_becomes_kept(std::uint64_t bytes);
std::uint64_t kept_bytes();

void forget_returns_in_child();

}  // namespace nvs::interposer::swap
