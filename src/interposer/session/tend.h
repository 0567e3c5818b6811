// SPDX-License-Identifier: Apache-2.0
// What has to be looked at now and then while the daemon is silent: windows that are not used any
// more, drains that do not end, what to tell people, and whether the daemon is alive.
#pragma once

#include <cstdint>

namespace nvs::interposer::session {

// Does what is due; returns how long the thread may sleep.
std::int64_t tend();

// A new connection: what the last daemon was asked and told counts no more. With the lock held.
void forget_daemon();

void note_pong();
// It has not answered for so long that it must be taken for dead.
bool is_daemon_silent();

}  // namespace nvs::interposer::session
