// SPDX-License-Identifier: Apache-2.0
// How much host memory the daemon may lend to tenants, and in which pieces: worked out once, from
// the cap.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "daemon/limits.h"

namespace nvs::daemon {

struct HostPlan {
  std::uint64_t cap_bytes = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t segments = 0;  // how many there may be at once
  std::uint64_t reserve = 0;   // how many of them are made before anybody asks
};

// Below kHostMemoryMin there is no pool. Segments are smaller where the cap is small, so that there
// are some to be shared out.
inline HostPlan plan_host_memory(std::uint64_t cap_bytes) {
  HostPlan plan;
  if (cap_bytes < kHostMemoryMin) return plan;
  plan.cap_bytes = cap_bytes;
  plan.segment_bytes = std::clamp(std::bit_floor(cap_bytes / kHostSegmentsAim), kHostSegmentLeast,
                                  kHostSegmentBytes);
  plan.segments = cap_bytes / plan.segment_bytes;
  plan.reserve = std::min(kHostReserveBytes, cap_bytes / 4) / plan.segment_bytes;
  return plan;
}

// The same with no more segments than these.
inline HostPlan with_segments_at_most(HostPlan plan, std::uint64_t segments) {
  if (segments == 0) return {};
  if (segments >= plan.segments) return plan;
  plan.segments = segments;
  plan.cap_bytes = segments * plan.segment_bytes;
  plan.reserve = std::min(plan.reserve, segments / 4);
  return plan;
}

}  // namespace nvs::daemon
