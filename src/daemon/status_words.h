// SPDX-License-Identifier: Apache-2.0
// The words for modes, priorities and states that users read and write, and the numbers that they
// may give: one spelling for flags, the state file, the admin socket and the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/instant.h"
#include "core/policy.h"
#include "core/view.h"

namespace nvs::daemon {

inline constexpr std::uint32_t kWeightMin = 1;
inline constexpr std::uint32_t kWeightMax = 1000;

std::string_view mode_word(core::Mode mode);              // auto, serial, concurrent
std::string_view priority_word(core::Priority priority);  // low, normal, high
std::string_view state_word(core::TenantState state);

std::optional<core::Mode> parse_mode(std::string_view word);
std::optional<core::Priority> parse_priority(std::string_view word);

// Nothing if the number is out of range or is none.
std::optional<Duration> window_of_ms(double ms);
std::optional<Duration> turn_of_s(double seconds);

}  // namespace nvs::daemon
