// SPDX-License-Identifier: Apache-2.0
// The thread that listens to the daemon, and the parts of it that tests look at.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nvs::interposer::session {

// What the thread does.
void listen(void*);

// All that has come. False: the connection is gone.
bool hear_all();
// A packet of the daemon's, and the descriptor that came with it, which is ours.
void hear(const char* packet, std::size_t size, int file = -1);

// Users pause a tenant through the daemon. If none comes back that serves us, nobody else can
// resume it: then the pause ends by itself.
void end_long_pause(std::int64_t now_ns);

}  // namespace nvs::interposer::session
