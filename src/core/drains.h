// SPDX-License-Identifier: Apache-2.0
// Closing a gate, and everything that can go wrong with it: silence, a drain that stalls or takes
// too long, and a refusal.
#pragma once

#include "core/event.h"
#include "core/node.h"

namespace nvs::core {

// Tells the client of an open gate to close it.
void begin_drain(Node& node, Gate& gate);

// The same, and nobody waits for it.
void ask_to_close(Node& node, Gate& gate);

// What clients answer. A gate that was not asked, or in another grant, is left alone; but a window
// may be given up unasked. Whether it was this grant that has drained.
bool on_drained(Node& node, Gate& gate, const Drained& event);
void on_still_draining(Node& node, Gate& gate, GrantId grant, Duration remaining);
void on_stalled(Node& node, Gate& gate, GrantId grant);
void on_refused(Node& node, Gate& gate, GrantId grant);

// The gate's deadline has come.
void on_gate_due(Node& node, Gate& gate);

// The client has said something, whatever it is: it is not silent any more.
void on_sign_of_life(Node& node, Client& client);

}  // namespace nvs::core
