// SPDX-License-Identifier: Apache-2.0
// What a class is sure to get of a GPU however many of the others have work, in parts of 1000.
#pragma once

#include <cstdint>

#include "core/policy.h"

namespace nvs::sim {

inline std::int64_t share_of(core::Priority priority) {
  switch (priority) {
    case core::Priority::high:
      return 1000 - core::kFloorShareNormal - core::kFloorShareLow;
    case core::Priority::normal:
      return core::kFloorShareNormal;
    case core::Priority::low:
      break;
  }
  return core::kFloorShareLow;
}

}  // namespace nvs::sim
