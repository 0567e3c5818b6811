// SPDX-License-Identifier: Apache-2.0
// Before memory of a GPU leaves, no other GPU of the process may be at work on it, or come to be:
// ADR 29. Their windows are given up for that, as if the program had paused; the daemon hears that
// and nothing else.
#pragma once

#include <cstdint>

namespace nvs::interposer::session {

// How long at most memory stays that others' work does not let go of.
inline constexpr std::int64_t kStays_ns = 5'000'000'000;
// How long what did not stand still is left alone. It may have been asked to after the memory was
// given up on, and must not be in the way still when that is tried again.
inline constexpr std::int64_t kKeepsWay_ns = 2'000'000'000;

enum class Way : std::uint8_t {
  clear,    // or there is nothing to be done about it
  coming,   // what is in the way is being ended; a change of the room wakes whoever waits for it
  blocked,  // it could not be ended. It is not tried again for a while
};

// For whoever moves the memory of `owner`, which has to go and may not yet.
Way make_way(int owner);

}  // namespace nvs::interposer::session
