// SPDX-License-Identifier: Apache-2.0
// Turns in a GPU's memory: in which order tenants get a place in it, how long those that are in
// stay while others wait, and what is learnt from each change.
#pragma once

#include <vector>

#include "base/instant.h"
#include "core/node.h"

namespace nvs::core {

// It has work, or had some a short while ago: moving its memory out would not pay.
bool is_lively(const Seat& seat, Instant now);
// Until when it is so without work.
Instant lively_until(const Seat& seat);

enum class Occasion : std::uint8_t {
  turn_goes_on,  // whoever is in and has work stays
  turn_ends,     // those that wait come first, within a class
};
// Does it keep its place before all others until the turn ends?
bool has_turn_in_memory(const Seat& seat, Occasion occasion, Instant now);
// All seats that have memory, those first that get theirs first.
std::vector<Seat*> order_of_memory(const Gpu& gpu, Occasion occasion, Instant now);

// How long a turn is now.
Duration turn_length(const Gpu& gpu, Instant now);
// How long it takes until everybody who has work has had one of this length.
Duration round_length(const Gpu& gpu, Duration turn);
// Has the turn lasted long enough? In serial mode windows are not cut short for it.
bool is_turn_over(const Gpu& gpu, Instant now);

// Others come in now; nothing has moved yet.
void change_turn(Gpu& gpu, Instant now);
// Begins the turn if all that were to come in are there.
void begin_turn(Gpu& gpu, Instant now);
// When others come in, once it is decided who is in: which classes were passed over, and for how
// much of a turn.
void count_passed(Gpu& gpu, const std::vector<Seat*>& came_in, Instant now);

// For the stall of a change: a window has ended, or opened.
void note_window_ended(Gpu& gpu, Instant now);
void note_window_opened(Gpu& gpu, Instant now);

}  // namespace nvs::core
