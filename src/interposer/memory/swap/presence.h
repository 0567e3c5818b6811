// SPDX-License-Identifier: Apache-2.0
// For calls that pass a closed gate, because they are captured and submit nothing: where they name
// memory the driver looks at it, so that must be there.
#pragma once

#include <cstdint>

namespace nvs::interposer::swap {

// Until all memory of the process is on these GPUs, one bit each; the daemon is told that somebody
// wants it. From then on nothing leaves before leave_captured().
void enter_captured(std::uint32_t gpus);
void leave_captured();

// With the lock held.
bool is_captured_inside();

void forget_captured_in_child();

}  // namespace nvs::interposer::swap
