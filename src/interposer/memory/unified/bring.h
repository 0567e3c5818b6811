// SPDX-License-Identifier: Apache-2.0
// A thread for each GPU that does with Unified Memory what the daemon says: what is allowed comes
// in, all at once and before the window opens; what is no longer allowed counts as away, and leaves
// when somebody needs its room.
#pragma once

namespace nvs::interposer::unified {

// False: there is no thread to be had.
bool start_bringing(int gpu);

void forget_bringing_in_child();

}  // namespace nvs::interposer::unified
