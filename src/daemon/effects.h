// SPDX-License-Identifier: Apache-2.0
// What the core wants done, as the packets that tell a client.
#pragma once

#include "core/effect.h"
#include "daemon/session.h"

namespace nvs::daemon {

core::ClientId client_of(const core::Effect& effect);

// Sends it on the session of that client. An effect about a GPU that the client never named is a
// bug of the daemon.
Session::Output send_effect(const core::Effect& effect, Session& session);

}  // namespace nvs::daemon
