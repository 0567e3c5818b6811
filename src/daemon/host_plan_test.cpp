// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_plan.h"

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

TEST(HostPlan, SegmentsFollowTheCap) {
  const HostPlan none = plan_host_memory(kHostMemoryMin - 1);
  EXPECT_EQ(none.segments, 0U);
  EXPECT_EQ(none.cap_bytes, 0U);
  const HostPlan least = plan_host_memory(kHostMemoryMin);
  EXPECT_EQ(least.segment_bytes, kHostSegmentLeast) << "a chunk fits into it";
  EXPECT_EQ(least.segments, 1U);
  EXPECT_EQ(least.reserve, 0U);
  const HostPlan small = plan_host_memory(kGib + kGib / 2);
  EXPECT_EQ(small.segment_bytes, kGib / 16);
  EXPECT_EQ(small.segments, 24U);
  EXPECT_EQ(small.reserve, 6U);
  const HostPlan middle = plan_host_memory(5 * kGib);
  EXPECT_EQ(middle.segment_bytes, kGib / 8);
  EXPECT_EQ(middle.segments, 40U);
  const HostPlan large = plan_host_memory(100 * kGib + 5);
  EXPECT_EQ(large.segment_bytes, kGib / 4);
  EXPECT_EQ(large.segments, 400U);
  EXPECT_EQ(large.reserve, 64U);
}

TEST(HostPlan, FewerSegmentsAreLessMemoryOfTheSamePieces) {
  const HostPlan all = plan_host_memory(100 * kGib);
  EXPECT_EQ(with_segments_at_most(all, 400).cap_bytes, 100 * kGib);
  const HostPlan some = with_segments_at_most(all, 100);
  EXPECT_EQ(some.segments, 100U);
  EXPECT_EQ(some.segment_bytes, all.segment_bytes);
  EXPECT_EQ(some.cap_bytes, 25 * kGib);
  EXPECT_EQ(some.reserve, 25U);
  EXPECT_EQ(with_segments_at_most(all, 0).cap_bytes, 0U);
  EXPECT_EQ(with_segments_at_most(HostPlan{}, 5).segments, 0U);
}

}  // namespace
}  // namespace nvs::daemon
