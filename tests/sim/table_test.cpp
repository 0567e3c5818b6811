// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <gtest/gtest.h>

namespace nvs::sim {
namespace {

std::vector<Duration> one_to(std::int64_t count) {
  std::vector<Duration> times;
  for (std::int64_t i = 1; i <= count; ++i) times.push_back(Duration::from_ms(i));
  return times;
}

TEST(Percentile, IsTheNearestRank) {
  EXPECT_EQ(percentile(one_to(100), 99), Duration::from_ms(99));
  EXPECT_EQ(percentile(one_to(200), 99), Duration::from_ms(198));
  EXPECT_EQ(percentile(one_to(101), 99), Duration::from_ms(100));
  EXPECT_EQ(percentile(one_to(7), 50), Duration::from_ms(4));
}

TEST(Percentile, OfAFewIsTheLongest) {
  EXPECT_EQ(percentile(one_to(2), 99), Duration::from_ms(2));
  EXPECT_EQ(percentile(one_to(1), 99), Duration::from_ms(1));
  EXPECT_EQ(percentile(one_to(30), 100), Duration::from_ms(30));
}

TEST(Percentile, OfNoneIsZero) { EXPECT_EQ(percentile({}, 99), Duration{}); }

}  // namespace
}  // namespace nvs::sim
