// SPDX-License-Identifier: Apache-2.0
#include "bench/row.h"

#include <cmath>

namespace nvs::bench {

namespace {

bool is_missing(const Row& row) { return row.target && std::isnan(row.value.median); }

}  // namespace

bool valid(const Row& row) {
  const bool says_something = std::isfinite(row.value.median) || is_missing(row);
  return says_something && row.overrun.value_or(0) <= kOverrunMax;
}

Verdict judge(const Row& row) {
  if (!valid(row)) return Verdict::kInvalid;
  if (!row.target) return Verdict::kNone;
  if (is_missing(row)) return Verdict::kMissed;
  const double value = row.value.median;
  const bool low = row.target->min && value < *row.target->min;
  const bool high = row.target->max && value > *row.target->max;
  return low || high ? Verdict::kMissed : Verdict::kMet;
}

bool acceptable(Verdict verdict) { return verdict == Verdict::kNone || verdict == Verdict::kMet; }

Target within(double figure, double tolerance) {
  return {figure * (1 - tolerance), figure * (1 + tolerance)};
}

}  // namespace nvs::bench
