// SPDX-License-Identifier: Apache-2.0
// Tells those who come next when that will be, so that their threads are awake by then: waking up
// takes longer than everything else in a handover.
#pragma once

#include "base/instant.h"
#include "core/node.h"

namespace nvs::core {

// The window is being closed for somebody: that one is told. So is the one that loses it, if it
// will have it back soon.
void tell_next(Node& node, const Gate& closing, Duration in);

// It is alone, has had its share, and goes on in so long.
void tell_return(Node& node, const Seat& seat, Duration in);

// A window was opened for a tenant whose bursts are short: the first in line is told.
void tell_first_in_line(Node& node, const Seat& holder);

}  // namespace nvs::core
