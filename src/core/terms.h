// SPDX-License-Identifier: Apache-2.0
// The terms of an open window: they follow from who else is about and how steadily, and a client is
// told when they change.
#pragma once

#include "base/instant.h"
#include "core/effect.h"
#include "core/node.h"

namespace nvs::core {

// After a seat began or ceased to hold the GPU or to wait for it, and now and then meanwhile.
void note_presence(Node& node, Seat& seat);
// It was present, and is gone for good.
void forget_presence(Seat& seat);

WindowTerms terms_for(const Gpu& gpu, const Seat& holder, Instant now);

// Tells the clients of the open window if its terms are others than before.
void refresh_terms(Node& node, Seat& seat);

}  // namespace nvs::core
