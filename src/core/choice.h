// SPDX-License-Identifier: Apache-2.0
// Who is next on a GPU: the order of tenants, and who may take the GPU from whom.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "core/node.h"

namespace nvs::core {

// Classes in the order in which they are served now: first those that are owed a window.
std::array<Priority, kPriorities> order_of_classes(const Gpu& gpu);

// Is `a` to be served before `b` on their GPU, if both want it?
bool precedes(const Seat& a, const Seat& b, Instant now);

// Was its window owed to its class, and still is, or to a gang that had to wait for too long? Then
// a higher class does not take it away.
bool is_protected(const Seat& holder);

// Has it no work: on all its GPUs, if it runs as a gang?
bool is_idle(const Seat& holder);

enum class Taker : std::uint8_t {
  waiting,  // it takes the GPU when a window is over
  waking,   // in mid-window too: if its class is higher, or the holder is ahead by kWakeupLead
  gang,  // in mid-window too, wherever it comes first: windows on several GPUs never end together
};
// May `taker` have the GPU that `holder` has, now?
bool may_take(const Seat& taker, const Seat& holder, Instant now, Taker as);

// Does one that wakes come before the holder, or before who is about to be that, in mid-window?
bool outranks(const Seat& taker, const Seat& holder, Instant now);

// One that wakes would take the GPU in mid-window, but for a burst of the holder's that should be
// over soon: until when that is believed.
std::optional<Instant> put_off_until(const Seat& taker, const Seat& holder, Instant now);

struct Choice {
  Seat* seat = nullptr;
  std::vector<Seat*> gang;  // all that must open together, or empty
};

// The first in line that can start; gangs that cannot are passed over, and the GPU's try_again says
// when to look again.
std::optional<Choice> choose(Node& node, Gpu& gpu);

}  // namespace nvs::core
