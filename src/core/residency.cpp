// SPDX-License-Identifier: Apache-2.0
#include "core/residency.h"

#include <algorithm>

namespace nvs::core {

GpuPolicy within_limits(GpuPolicy policy) {
  policy.window = std::clamp(policy.window, kWindowMin, kWindowMax);
  if (policy.turn) policy.turn = std::clamp(*policy.turn, kTurnMin, kTurnMax);
  return policy;
}

}  // namespace nvs::core
