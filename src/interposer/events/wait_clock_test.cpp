// SPDX-License-Identifier: Apache-2.0
#include "interposer/events/wait_clock.h"

#include <gtest/gtest.h>

namespace nvs::interposer::events {
namespace {

TEST(WaitClockTest, CountsWhatLiesBetweenStartAndStop) {
  WaitClock clock;
  EXPECT_TRUE(clock.is_at_zero());
  clock.start(100);
  EXPECT_FALSE(clock.is_at_zero());
  EXPECT_EQ(clock.read_ns([] { return 100; }), 0);
  EXPECT_EQ(clock.read_ns([] { return 130; }), 30);
  clock.start(150);  // it runs already
  clock.stop(200);
  clock.stop(300);  // it stands already
  EXPECT_EQ(clock.read_ns([] { return 250; }), 100);
  clock.start(1000);
  clock.stop(1001);
  EXPECT_EQ(clock.read_ns([] { return 5000; }), 101);
  clock.reset();
  EXPECT_TRUE(clock.is_at_zero());
}

}  // namespace
}  // namespace nvs::interposer::events
