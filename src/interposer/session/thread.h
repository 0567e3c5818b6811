// SPDX-License-Identifier: Apache-2.0
// A thread of our own in somebody else's process: no signal of the program's is ever delivered to
// it, nobody joins it, it sleeps no longer than it asks to, and it is not bound to the core or the
// real-time policy of whichever thread happened to start it.
#pragma once

namespace nvs::interposer {

// False if there is none to be had.
bool start_thread(void (*run)(void*), void* argument);

}  // namespace nvs::interposer
