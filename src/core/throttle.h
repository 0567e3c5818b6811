// SPDX-License-Identifier: Apache-2.0
// Caps on GPU time (ADR-0020): whoever has had its share stands in no line until it has saved up
// for a while. All else, who is served when, is as without caps.
#pragma once

#include <optional>

#include "base/instant.h"
#include "core/node.h"

namespace nvs::core {

// `settles`: what others have saved is cut too.
void set_cap(Node& node, Tenant& tenant, Share cap, bool settles);

// After gates of a seat with an account have changed: does its cap count, and may it run?
void note_quota(Node& node, Seat& seat);
// It must not run: it has had its share here, or wants another GPU as well and has had it there.
bool lacks_quota(const Seat& seat);

// Ends the windows of those that have run out, and lets those back in line that have saved enough.
void enforce_caps(Node& node, Gpu& gpu);
// When time alone changes something.
std::optional<Instant> next_cap_event(const Gpu& gpu, Instant now);

}  // namespace nvs::core
