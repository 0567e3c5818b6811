// SPDX-License-Identifier: Apache-2.0
// The mechanics of windows: how a tenant gets one, how it loses it, and when it stands in line. Who
// is to have one is decided elsewhere (choice.h, dispatch.h).
#pragma once

#include "base/instant.h"
#include "core/node.h"

namespace nvs::core {

// Opens all closed gates of the seat; whoever wanted counts as busy. The GPU must be free for it.
// The window ends at once if anybody waits: give it a length with set_window.
void open_window(Node& node, Seat& seat);

// Opens one more gate in a window that is open.
void join_window(Node& node, Gate& gate);

// Tells the clients to close, on all GPUs of the gang if it runs as one.
void end_window(Node& node, Seat& seat);

// The same for this GPU alone.
void end_window_here(Node& node, Seat& seat);

// It has given all gates on this GPU up, and is a gang that still works on another one, or has a
// turn of serial mode: nobody else gets the GPU until end_of_window().
bool is_kept(const Seat& seat);

// When others who wait may have the GPU. One that is kept is forgotten before a long turn of serial
// mode is over, which all windows of a gang have if one of its GPUs is in that mode.
Instant end_of_window(const Seat& seat);

// It has no work in the middle of a turn of serial mode, and may come back for the rest of it: a
// pause is no end (ADR-0033). Not if somebody of a higher class waits, unless the turn was owed to
// its own, nor if it could not run.
bool is_resting(const Seat& seat, Instant now);

// For a gate that is open without a window: the seat counts as closing until it has drained; or
// nobody waits for that.
enum class Stray : std::uint8_t { awaited, late };
void close_stray(Node& node, Gate& gate, Stray stray);

// After gates of a seat have changed: gives the GPU back if no gate blocks it any more, joins or
// leaves the line, and touches the GPU.
void settle(Node& node, Seat& seat);

// Changes the place in the order of service, in the line too.
void set_service(Node& node, Seat& seat, Service service);

}  // namespace nvs::core
