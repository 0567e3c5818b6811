// SPDX-License-Identifier: Apache-2.0
// Who gets how much of a GPU's memory, and the allowances that bring it about: lowered where it
// does not hurt, raised as far as there is room for certain.
#pragma once

#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "core/node.h"
#include "core/turns.h"

namespace nvs::core {

// A seat's place in memory.
struct Place {
  Seat* seat = nullptr;
  std::uint64_t bytes = 0;  // beside what cannot be moved, and what it asks for
  bool in = false;
  bool grants_ask = false;
  bool keeps_promise = false;  // what it asked for and may take by now stays its own
};

struct Division {
  std::vector<Place> places;  // in the order in which they are served
  std::uint64_t slack = 0;    // for each client, beyond what it needs
};

Division divide_memory(const Gpu& gpu, Occasion occasion, Instant now);

// Does somebody wait who gets no place, and could have one?
bool leaves_out(const Division& division);
// Nobody who is in has work but those who ask for more than there is beside the others: none would
// get on until somebody goes.
bool is_standstill(const Division& division);

struct Changes {
  std::vector<Seat*> came_in;  // waited, and have a place or what they asked for now
  bool sent_out = false;       // somebody has to go that has work
  bool any() const { return sent_out || !came_in.empty(); }
};
// Notes who is in from now on.
Changes settle_places(const Division& division, Instant now);

// Tells clients what has changed for them, as far as it can be done now.
void carry_out(Node& node, Gpu& gpu, const Division& division);

}  // namespace nvs::core
