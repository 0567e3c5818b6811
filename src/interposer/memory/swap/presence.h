// SPDX-License-Identifier: Apache-2.0
// For calls that pass a closed gate, because they are captured and submit nothing: where they name
// memory the driver looks at it, so that must be there.
#pragma once

#include <cstdint>

namespace nvs::interposer::swap {

// A GPU of which some memory is not there, and may not be because its gate is closed.
struct Missing {
  int gpu;  // -1: none
  std::uint32_t changes;
};

// For a thread that is marked as inside such a call: if none is missing, nothing leaves before the
// mark is cleared.
Missing find_missing();
// The daemon is told that somebody wants it. For a thread that is not marked.
void wait_for(const Missing& missing);

// Whether captures, or such calls, keep the memory of the process where it is. A no holds as long
// as the lock is held.
bool is_kept();

}  // namespace nvs::interposer::swap
