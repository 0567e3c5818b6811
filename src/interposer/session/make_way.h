// SPDX-License-Identifier: Apache-2.0
// Before memory of a GPU leaves, no other GPU of the process may be at work on it, or come to be:
// ADR 29. Their windows are given up for that, as if the program had paused; the daemon hears that
// and nothing else.
#pragma once

#include <cstdint>

namespace nvs::interposer::session {

enum class Way : std::uint8_t {
  clear,    // or there is nothing to be done about it
  coming,   // what is in the way is being ended; a change of the room wakes whoever waits for it
  blocked,  // it could not be ended. It is not tried again for a while
};

// For whoever moves the memory of `owner`, which has to go and may not yet.
Way make_way(int owner);

}  // namespace nvs::interposer::session
