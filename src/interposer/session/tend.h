// SPDX-License-Identifier: Apache-2.0
// What has to be looked at now and then while the daemon is silent: windows that are not used any
// more, drains that do not end, what to tell people, and whether the daemon is alive.
#pragma once

#include <cstdint>

#include "interposer/flow/flow.h"

namespace nvs::interposer::session {

// Does what is due; returns how long the thread may sleep.
std::int64_t tend();

// Whether a window in which we have worked, and whose work is done, is let go at once: only who
// will be away for long does so before it is sure of that. With the lock held.
bool may_let_go(int gpu, std::int64_t now_ns, const flow::Look& look);

// A daemon that is soon back should not have to wait until deep queues are worked off, so that a
// bound outlives it for a while. With the lock held.
void lift_old_bounds(std::int64_t now_ns);

// A new connection: what the last daemon was asked and told counts no more. With the lock held.
void forget_daemon();

void note_pong();
// It has not answered for so long that it must be taken for dead.
bool is_daemon_silent();

}  // namespace nvs::interposer::session
