// SPDX-License-Identifier: Apache-2.0
// Runs of the core as text, a line for each event and effect: for golden traces, the simulator's
// replays and debugging. The same run always gives the same text.
#pragma once

#include <span>
#include <string>

#include "base/instant.h"
#include "core/effect.h"
#include "core/event.h"

namespace nvs::core {

std::string text_of(const Event& event);    // "wanted client=3 gpu=0"
std::string text_of(const Effect& effect);  // "open client=3 gpu=0 grant=7 bounded"
std::string text_of(Instant now);           // milliseconds: "12.345678"

// An event and what the core wanted done about it: the effects on lines of their own, indented.
std::string text_of_step(Instant now, const Event& event, std::span<const Effect> effects);

}  // namespace nvs::core
