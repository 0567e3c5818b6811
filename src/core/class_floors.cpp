// SPDX-License-Identifier: Apache-2.0
#include "core/class_floors.h"

#include <algorithm>

namespace nvs::core {
namespace {

// Nobody is owed more than this many windows: a class that could not be served (all its tenants
// were gangs, or paused) must not block the others for long afterwards.
constexpr int kWindowsOwedMax = 2;
constexpr std::array<int, kPriorities> kFloorShares = {kFloorShareLow, kFloorShareNormal, 0};

}  // namespace

void ClassFloors::pass(Duration span, const Activities& activities, Duration window) {
  for (std::size_t i = 0; i < owed_.size(); ++i) {
    Duration owed = owed_[i];
    if (activities[i].waits) {
      const std::int64_t thousandths = span.ns() * kFloorShares[i] + rest_[i];
      owed += Duration::from_ns(thousandths / 1000);
      rest_[i] = thousandths % 1000;
    }
    if (activities[i].runs) owed -= span;
    owed_[i] = std::clamp(owed, Duration{}, window * kWindowsOwedMax);
  }
}

}  // namespace nvs::core
