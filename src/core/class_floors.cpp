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
    if (activities[i].waits) owed += span / 1000 * kFloorShares[i];
    if (activities[i].runs) owed -= span;
    owed_[i] = std::clamp(owed, Duration{}, window * kWindowsOwedMax);
  }
}

}  // namespace nvs::core
