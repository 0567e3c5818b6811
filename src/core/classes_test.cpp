// SPDX-License-Identifier: Apache-2.0
// Priorities: who goes first, and what the others still get.
#include <gtest/gtest.h>

#include "core/class_floors.h"
#include "core/sim_node.h"

namespace nvs::core {
namespace {

TEST(ClassFloors, AccrueWhileWaitingAndArePaidByRunning) {
  ClassFloors floors;
  ClassFloors::Activities normal_waits{};
  normal_waits[1].waits = true;
  const Duration window = Duration::from_ms(20);
  floors.pass(Duration::from_ms(99), normal_waits, window);
  EXPECT_FALSE(floors.is_due(Priority::normal, window));
  floors.pass(Duration::from_ms(1), normal_waits, window);
  EXPECT_TRUE(floors.is_due(Priority::normal, window));
  EXPECT_EQ(floors.owed(Priority::low), Duration{});

  ClassFloors::Activities normal_runs{};
  normal_runs[1].runs = true;
  floors.pass(Duration::from_ms(5), normal_runs, window);
  EXPECT_EQ(floors.owed(Priority::normal), Duration::from_ms(15));
  floors.pass(Duration::from_ms(100), normal_runs, window);
  EXPECT_EQ(floors.owed(Priority::normal), Duration{}) << "nobody pays in advance";
}

TEST(ClassFloors, LoseNothingToManySmallSpans) {
  ClassFloors floors;
  ClassFloors::Activities low_waits{};
  low_waits[0].waits = true;
  for (int i = 0; i < 100'000; ++i) {
    floors.pass(Duration::from_ns(999), low_waits, Duration::from_s(1));
  }
  EXPECT_EQ(floors.owed(Priority::low), Duration::from_us(99'900 * kFloorShareLow / 1000));
}

TEST(ClassFloors, AreLimited) {
  ClassFloors floors;
  ClassFloors::Activities low_waits{};
  low_waits[0].waits = true;
  floors.pass(Duration::from_s(3600), low_waits, Duration::from_ms(20));
  EXPECT_EQ(floors.owed(Priority::low), Duration::from_ms(40));
}

TEST(Classes, HighTakesTheGpuInMidWindow) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2, Priority::high);
  node.saturate(1);
  node.pass_ms(3);
  node.want(2);
  EXPECT_TRUE(node.is_closing(1));
}

TEST(Classes, LowWaitsForItsTurn) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2, Priority::low);
  node.saturate(1);
  node.pass_ms(30);
  node.want(2);
  EXPECT_TRUE(node.is_open(1)) << "the window is over, but the holder comes first";
  node.pass_ms(450);
  EXPECT_GE(node.opened(2), 1);
}

TEST(Classes, SharesWhenEverybodySaturates) {
  SimNode node;
  node.join(1, 1, Priority::high);
  node.join(2, 2, Priority::normal);
  node.join(3, 3, Priority::low);
  for (int client = 1; client <= 3; ++client) node.saturate(client);
  node.pass_ms(60'000);
  const double seconds = 60;
  EXPECT_NEAR(node.used(1).seconds() / seconds, 0.78, 0.04);
  EXPECT_NEAR(node.used(2).seconds() / seconds, 0.17, 0.04);
  EXPECT_NEAR(node.used(3).seconds() / seconds, 0.05, 0.02);
}

TEST(Classes, AnOwedWindowIsNotTakenAway) {
  SimNode node;
  node.join(1, 1, Priority::high);
  node.join(2, 2, Priority::normal);
  node.join(3, 3, Priority::high);
  node.saturate(1);
  node.saturate(2);
  while (!node.is_open(2)) node.pass_ms(1);
  node.want(3);
  EXPECT_TRUE(node.is_open(2));
}

// The window is owed to a third class, which goes first; but the one that wakes has ended it.
TEST(Classes, AWakingHigherClassEndsTheWindowAlthoughALowerOneIsServedThen) {
  SimNode node;
  node.join(1, 1, Priority::high);
  node.join(2, 2, Priority::normal);
  node.join(3, 3, Priority::low);
  node.want(2);
  node.pass_ms(5);
  node.want(3);
  node.pass_ms(405);  // a window is owed to it since 5 ms, and the holder's ends in 10 ms
  ASSERT_TRUE(node.is_open(2));
  node.want(1);
  EXPECT_TRUE(node.is_closing(2));
  node.drained(2);
  EXPECT_TRUE(node.is_open(3));
}

TEST(Classes, APriorityThatIsRaisedCountsAtOnce) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2, Priority::low);
  node.saturate(1);
  node.pass_ms(5);
  node.want(2);
  node.step(PrioritySet{TenantId{2}, Priority::high});
  EXPECT_TRUE(node.is_closing(1));
}

TEST(Classes, ANewcomerOfAClassDoesNotProfitFromWaitersOfALowerOne) {
  SimNode node;
  node.join(1, 1, Priority::high);
  node.join(2, 2, Priority::low);
  node.saturate(1);
  node.saturate(2);
  node.pass_ms(10'000);
  node.join(3, 3, Priority::high);
  node.saturate(3);
  const Duration before = node.used(1);
  node.pass_ms(1'000);
  EXPECT_NEAR((node.used(1) - before).seconds(), 0.475, 0.05);
}

}  // namespace
}  // namespace nvs::core
