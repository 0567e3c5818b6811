// SPDX-License-Identifier: Apache-2.0
#include "daemon/usage_watch.h"

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

constexpr Instant kStart = Instant::from_ns(5'000'000'000);

TEST(UsageWatch, NobodyEverCame) {
  UsageWatch watch(kStart);
  watch.update(kStart + Duration::from_s(1), false);
  EXPECT_EQ(watch.end(), kStart + kUnusedAtFirst);
}

TEST(UsageWatch, TheGraceBeginsWhenTheLastOneLeaves) {
  UsageWatch watch(kStart);
  watch.update(kStart + Duration::from_s(1), true);
  const Instant left = kStart + Duration::from_s(3600);  // nothing happened for an hour
  watch.update(left, false);
  EXPECT_EQ(watch.end(), left + kUnusedGrace);
  watch.update(left + Duration::from_s(1), false);
  EXPECT_EQ(watch.end(), left + kUnusedGrace);
  watch.postpone(left + kUnusedGrace);
  EXPECT_EQ(watch.end(), left + kUnusedGrace + kUnusedGrace);
}

}  // namespace
}  // namespace nvs::daemon
