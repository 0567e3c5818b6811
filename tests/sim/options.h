// SPDX-License-Identifier: Apache-2.0
// What nvshare-sim is asked to do, checked, or the text and exit code with which it ends at once.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

#include "plan.h"

namespace nvs::sim {

inline constexpr int kExitOk = 0;
inline constexpr int kExitBroken = 1;  // a promise of the core was broken
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnwritten = 3;  // nobody has seen what came of it

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  bool trace = false;
  PlanSize size;
};

struct EarlyExit {
  int code = kExitUsage;
  std::string text;
};

tl::expected<Options, EarlyExit> parse_options(int count, const char* const* words);

}  // namespace nvs::sim
