// SPDX-License-Identifier: Apache-2.0
#include "daemon/status_words.h"

#include <array>
#include <cmath>

namespace nvs::daemon {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kModes = {"auto", "serial", "concurrent"};
constexpr std::array<std::string_view, core::kPriorities> kPriorities = {"low", "normal", "high"};
constexpr std::array<std::string_view, 11> kStates = {
    "absent",       "idle",   "waiting", "running",   "draining", "loose",
    "unresponsive", "paused", "swapped", "throttled", "faulted"};
static_assert(static_cast<std::size_t>(core::Mode::concurrent) + 1 == kModes.size());
static_assert(static_cast<std::size_t>(core::Priority::high) + 1 == kPriorities.size());
static_assert(static_cast<std::size_t>(core::TenantState::faulted) + 1 == kStates.size());

template <class Enum, std::size_t kCount>
std::optional<Enum> parse(const std::array<std::string_view, kCount>& words,
                          std::string_view word) {
  for (std::size_t index = 0; index < words.size(); ++index)
    if (words[index] == word) return static_cast<Enum>(index);
  return std::nullopt;
}

// The comparisons are false for what is not a number.
std::optional<Duration> within(double ns, Duration least, Duration most) {
  if (!(ns >= static_cast<double>(least.ns()) && ns <= static_cast<double>(most.ns())))
    return std::nullopt;
  return Duration::from_ns(std::llround(ns));
}

}  // namespace

std::string_view mode_word(core::Mode mode) { return kModes.at(static_cast<std::size_t>(mode)); }
std::string_view priority_word(core::Priority priority) {
  return kPriorities.at(static_cast<std::size_t>(priority));
}
std::string_view state_word(core::TenantState state) {
  return kStates.at(static_cast<std::size_t>(state));
}

std::optional<core::Mode> parse_mode(std::string_view word) {
  return parse<core::Mode>(kModes, word);
}
std::optional<core::Priority> parse_priority(std::string_view word) {
  return parse<core::Priority>(kPriorities, word);
}

std::optional<Duration> window_of_ms(double ms) {
  return within(ms * 1e6, core::kWindowMin, core::kWindowMax);
}
std::optional<Duration> turn_of_s(double seconds) {
  return within(seconds * 1e9, core::kTurnMin, core::kTurnMax);
}

}  // namespace nvs::daemon
