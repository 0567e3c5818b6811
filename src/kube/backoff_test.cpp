// SPDX-License-Identifier: Apache-2.0
#include "kube/backoff.h"

#include <gtest/gtest.h>

#include "kube/watch_timing.h"

namespace nvs::kube {
namespace {

std::int64_t ms(Duration span) { return span.ns() / 1'000'000; }

// Section 5.2: jittered, from 0.8 s to 30 s.
TEST(Backoff, GrowsFromTheFirstToTheMost) {
  const WatchTiming timing;
  Backoff least(timing.backoff_first, timing.backoff_most);
  Backoff most(timing.backoff_first, timing.backoff_most);
  for (const std::int64_t span : {800, 1600, 3200, 6400, 12800, 15000, 15000, 15000}) {
    EXPECT_EQ(ms(least.next(0)), span);
    EXPECT_EQ(ms(most.next(1)), 2 * span);
  }
  least.reset();
  EXPECT_EQ(ms(least.next(0.5)), 1200);
}

TEST(Backoff, ChancesOutOfRangeAreInRange) {
  Backoff backoff(Duration::from_s(1), Duration::from_s(1));
  EXPECT_EQ(ms(backoff.next(-5)), 1000);
  EXPECT_EQ(ms(backoff.next(5)), 2000);
}

}  // namespace
}  // namespace nvs::kube
