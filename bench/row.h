// SPDX-License-Identifier: Apache-2.0
// One figure of a benchmark, and the verdict on it. A row is worth something only with what it
// should be: a target makes it pass or fail, a figure of FACTS.md gives it a neighbour, and a
// simulator that could not keep time makes it invalid.
#pragma once

#include <limits>
#include <optional>
#include <string>

#include "bench/stats.h"

namespace nvs::bench {

// A row whose measurement ran on a simulator that was later than this share of its modelled time
// says nothing.
inline constexpr double kOverrunMax = 0.01;

// The value of what there was nothing of to be measured: no exchange, no request. Its target is
// missed, for a row that is not there fails no check.
inline constexpr double kNothingSeen = std::numeric_limits<double>::quiet_NaN();

// A bound that is not set is open.
struct Target {
  std::optional<double> min;
  std::optional<double> max;
};

struct Row {
  std::string section;  // heading in the table
  std::string what;
  Summary value;
  std::string unit;
  std::optional<double> facts;  // the measured figure that this one is compared with
  std::optional<Target> target;
  std::optional<double> overrun;  // simulator only: lateness over modelled time
  std::string facts_word = {};    // in place of a figure, where FACTS.md has none of the same unit
};

enum class Verdict { kNone, kMet, kMissed, kInvalid };

bool valid(const Row& row);
Verdict judge(const Row& row);
// With `--check`, a row with any other verdict than these two fails the run.
bool acceptable(Verdict verdict);

// The target "at most `tolerance` (0.05 is 5 %) away from `figure`".
Target within(double figure, double tolerance);

}  // namespace nvs::bench
