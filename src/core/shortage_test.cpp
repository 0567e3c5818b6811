// SPDX-License-Identifier: Apache-2.0
// The driver has less memory than there should be, and clients do not move what they should.
#include <gtest/gtest.h>

#include "core/sim_memory.h"

namespace nvs::core {
namespace {

using Shortages = MemoryTest;

TEST_F(Shortages, TheDriverIsTheTruth) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 8);
  has(2, 2, 4);
  obey(1);
  lacks(2);
  EXPECT_EQ(usable(), 11U) << "without the 5 that it may have and has not";
  pass_ms(20'000);
  EXPECT_GE(usable(), 14U) << "step by step it tries again";
  set_capacity(12);
  EXPECT_EQ(usable(), 12U);
}

TEST_F(Shortages, AMomentWithoutMemoryMakesNobodyImpossible) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 0, 14);
  has(2, 0, 6);
  node.want(1);
  node.want(2);
  lacks(1);
  EXPECT_EQ(usable(), 14U) << "for the larger one";
  pass_ms(100);
  EXPECT_TRUE(is_complete(1));
}

TEST_F(Shortages, AShortageBeforeItCameMakesNobodyImpossible) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 2, 4);
  lacks(1);
  EXPECT_EQ(usable(), 6U);
  has(2, 0, 12);  // which has come back to a new daemon
  node.want(2);
  pass_ms(1000);
  EXPECT_FALSE(node.seat(2).too_large);
  EXPECT_TRUE(is_complete(2));
}

TEST_F(Shortages, AnOldShortageMeansNothing) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 8);
  has(2, 2, 4);
  obey(1);
  held[{2, 0}].number = node.allowed(2).number - 1;
  tell({2, 0}, true);
  EXPECT_EQ(usable(), 16U) << "that was another word";
  has(2, 6);
  lacks(2);
  EXPECT_EQ(usable(), 16U) << "it has all it wants";
}

TEST_F(Shortages, WhoDoesNotMoveIsNotWaitedFor) {
  node.join(1, 1);
  node.join(2, 2);
  node.join(3, 3);
  has(1, 10);
  has(2, 0, 8);
  has(3, 0, 6);
  pass_ms(2000);
  node.want(2);  // 1 has no work, and should go; it is stopped
  for (int i = 0; i < 3000; ++i) {
    obey(2);
    node.pass_ms(1);
  }
  EXPECT_FALSE(is_complete(2));
  EXPECT_EQ(node.view().gpus[0].turns, 1U);
  node.want(3);
  for (int i = 0; i < 3000; ++i) {
    obey(2);
    obey(3);
    node.pass_ms(1);
  }
  EXPECT_TRUE(node.is_open(3)) << "6 fit beside the 10 of the one that is stopped";
  EXPECT_EQ(resident(2), 0U);
}

TEST_F(Shortages, WhoDidNotMoveNeedNotOnceAllFit) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 10);
  has(2, 0, 8);
  pass_ms(2000);
  node.want(2);
  ASSERT_EQ(allowed(1), 8U);
  node.pass_ms(3000);
  EXPECT_EQ(allowed(1), 8U) << "somebody still waits";
  leave(2);
  EXPECT_EQ(allowed(1), 10U);
  obey(1);
  EXPECT_EQ(allowed(1), 16U) << "like anybody else";
}

// Both are in the middle of an allocation, and neither fits beside what the other one has.
TEST_F(Shortages, WhoMovedTooLateDoesNotWaitForEverForWhatItAsksFor) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 0);
  has(2, 0);
  obey_all();
  asks(1, 9);
  asks(2, 4);
  obey_all();
  asks(1, 4);
  asks(2, 4);
  ASSERT_EQ(allowed(2), 3U) << "it has to go";
  held[Key(2, 0)].number = node.allowed(2).number;
  tell({2, 0});
  node.pass_ms(3000);  // it has answered, and is slow
  EXPECT_EQ(allowed(2), 4U) << "it is not waited for any more";
  pass_ms(5000);
  EXPECT_EQ(held[Key(1, 0)].asked, 0U);
  EXPECT_EQ(held[Key(2, 0)].asked, 0U);
}

// It has nothing to say either.
TEST_F(Shortages, WhoHasNothingToMoveIsNotStuck) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 10);
  has(2, 0, 8);
  obey(1);
  obey(2);
  ASSERT_EQ(allowed(1), resident(1));
  node.pass_ms(5000);
  EXPECT_FALSE(node.seat(1).stuck);
  node.want(2);
  EXPECT_EQ(allowed(1), 8U);
}

// What is left to bring in is less than a chunk.
TEST_F(Shortages, WhoDoesNotMoveTheLastBitIsNotWaitedFor) {
  node.join(1, 1);
  node.join(2, 2);
  held[{1, 0}] = {0, 4 * kGiB, kMemoryStep / 2};
  tell({1, 0});
  node.want(1);
  has(2, 0, 12);
  node.want(2);
  held[{1, 0}].number = node.allowed(1).number;
  tell({1, 0});
  ASSERT_EQ(node.allowed(1).bytes, 4 * kGiB + kMemoryStep / 2);
  node.pass_ms(1990);
  EXPECT_LT(allowed(2), 12U);
  EXPECT_FALSE(node.seat(1).stuck);
  node.pass_ms(20);
  EXPECT_EQ(allowed(2), 12U);
  EXPECT_TRUE(node.seat(1).stuck);
}

// It answers, and the driver has nothing for it.
class Starving : public MemoryTest {
 protected:
  // The first one's turn; it says every few milliseconds that it gets nothing.
  void starve(std::uint64_t resident, std::uint64_t away) {
    node.join(1, 1);
    has(1, resident, away);
    node.saturate(1);
    node.join(2, 2);
    has(2, 0, 12);
    node.saturate(2);
    for (int i = 0; i < 400; ++i) {
      lacks(1);
      node.pass_ms(5);
    }
  }
};

TEST_F(Starving, GoesByLessBeforeOthersGetIt) {
  starve(0, 14);
  EXPECT_EQ(allowed(1), 0U);
  EXPECT_LT(allowed(2), 12U) << "it may have taken it meanwhile";
  lacks(1);
  EXPECT_EQ(allowed(2), 12U);
  obey(2);
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Starving, CountsWithWhatItHasIfItSaysNothingAnyMore) {
  starve(0, 14);
  node.pass_ms(1990);
  EXPECT_LT(allowed(2), 12U);
  node.pass_ms(20);
  EXPECT_EQ(allowed(2), 12U);
}

TEST_F(Starving, IsNobodyWhoDoesNotSaySo) {
  node.join(1, 1);
  has(1, 0, 14);
  node.saturate(1);
  held[{1, 0}].number = node.allowed(1).number;
  tell({1, 0});
  node.join(2, 2);
  has(2, 0, 12);
  node.saturate(2);
  node.pass_ms(2010);
  EXPECT_EQ(allowed(2), 12U) << "nobody waits for an answer of one that is stopped";
}

TEST_F(Starving, MakesWayWithWhatItHas) {
  starve(6, 8);
  EXPECT_LT(allowed(1), 6U);
  obey_all();
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Starving, TriesAgainAfterAWhile) {
  starve(0, 14);
  pass_ms(9'900);
  EXPECT_EQ(allowed(1), 0U) << "though 4 are left over";
  pass_ms(20'000);
  EXPECT_GT(node.opened(1), 0);
}

TEST_F(Starving, TriesAgainWhenSomebodyLeaves) {
  starve(0, 14);
  obey_all();
  leave(2);
  EXPECT_GE(allowed(1), 14U);
}

// It was not told to go by less, so nothing new is said to it either.
TEST_F(Starving, HasTimeToTryAgainWhenSomebodyLeaves) {
  for (const int client : {1, 2, 3, 4}) node.join(client, client);
  has(1, 2, 8);
  has(3, 0, 0, 1);
  has(4, 0, 0, 1);
  node.want(1);
  for (int i = 0; i < 450; ++i) {
    lacks(1);
    node.pass_ms(5);
  }
  leave(3);
  node.pass_ms(1000);
  has(2, 0, 8);
  node.want(2);
  EXPECT_EQ(allowed(1), 10U) << "its turn goes on";
  EXPECT_LT(allowed(2), 8U);
}

TEST_F(Starving, TriesOnByItselfWhereNobodyNeedsTheRoom) {
  node.join(1, 1);
  node.join(2, 2);
  has(2, 1);
  has(1, 2, 8);
  node.want(1);
  for (int i = 0; i < 1000; ++i) {
    lacks(1);
    obey(2);
    node.pass_ms(5);
  }
  EXPECT_GE(allowed(1), 10U);
  obey(1);
  EXPECT_TRUE(node.is_open(1));
}

TEST_F(Shortages, WhatALostOneHasStaysAndTheOthersTakeTurnsBesideIt) {
  for (int client = 1; client <= 3; ++client) node.join(client, client);
  has(1, 6);
  has(2, 0, 7);
  has(3, 0, 7);
  node.want(1);
  ASSERT_TRUE(node.is_open(1));
  faults(1);
  node.drained(1);
  EXPECT_EQ(node.seat(1).state, TenantState::faulted);
  node.saturate(2);
  node.saturate(3);
  pass_ms(20'000);
  EXPECT_EQ(node.seat(1).fixed, 6 * kGiB);
  EXPECT_EQ(allowed(1), 0U) << "it takes nothing any more";
  EXPECT_TRUE(is_complete(2) != is_complete(3)) << "one of them fits beside it";
  EXPECT_GT(node.seat(2).windows, 0U);
  EXPECT_GT(node.seat(3).windows, 0U);
  EXPECT_LE(committed(), 16U);
  leave(1);
  pass_ms(2000);
  EXPECT_TRUE(is_complete(2) && is_complete(3)) << "all of it is free again";
}

TEST_F(Shortages, WhatIsTooLargeBesideALostOneWaitsForItsEnd) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 6);
  faults(1);
  has(2, 0, 12);
  node.want(2);
  pass_ms(2000);
  EXPECT_TRUE(node.seat(2).too_large);
  EXPECT_EQ(node.seat(2).state, TenantState::swapped) << "and is seen to wait";
  leave(1);
  pass_ms(2000);
  EXPECT_TRUE(is_complete(2));
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Shortages, ALostOneThatStoodAtItsGateGetsNoWindow) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 6);
  node.saturate(2);
  ASSERT_TRUE(node.is_open(2));
  node.want(1);
  faults(1);
  pass_ms(1000);
  EXPECT_EQ(node.seat(1).windows, 0U);
  EXPECT_EQ(node.seat(1).state, TenantState::faulted);
  EXPECT_TRUE(node.is_open(2)) << "nobody waits for it";
}

TEST_F(Shortages, ALostOneThatBeginsAnewIsLikeAnyOther) {
  node.join(1, 1);
  has(1, 6);
  faults(1);
  EXPECT_EQ(node.seat(1).state, TenantState::faulted);
  held[{1, 0}].is_faulted = false;
  has(1, 0);
  EXPECT_EQ(node.seat(1).state, TenantState::idle);
  node.want(1);
  EXPECT_TRUE(node.is_open(1));
}

// Its gate is closed, and a kernel on another GPU may use what it has.
TEST_F(Shortages, WhatStaysForAnotherGpuIsNotWaitedFor) {
  for (int client = 1; client <= 3; ++client) node.join(client, client);
  has(1, 10);
  has(2, 2);
  has(3, 0, 12);
  obey_all();
  node.want(3);
  for (int i = 0; i < 3000 && allowed(1) == 10; ++i) node.pass_ms(1);
  ASSERT_EQ(allowed(1), 2U) << "it has no work";
  stays(1, true);
  EXPECT_EQ(allowed(1), 10U) << "it may run with all that it has";
  EXPECT_TRUE(node.seat(1).stuck) << "and is seen to be in the way";
  EXPECT_EQ(node.seat(3).state, TenantState::swapped);
  node.want(2);
  EXPECT_TRUE(node.is_open(2)) << "who fits goes on at once";
  asks(2, 3);
  obey_all();
  EXPECT_EQ(resident(2), 5U);
}

TEST_F(Shortages, WhoeverNeedsWhatStaysGetsItWhenItCanLeave) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 6);
  asks(2, 12);
  for (int i = 0; i < 3000 && allowed(1) == 6; ++i) node.pass_ms(1);
  ASSERT_EQ(allowed(1), 4U);
  stays(1, true);
  pass_ms(10'000);
  EXPECT_EQ(resident(1), 6U);
  EXPECT_EQ(resident(2), 0U);
  EXPECT_LE(committed(), 16U);
  stays(1, false);
  pass_ms(1000);
  EXPECT_EQ(resident(2), 12U);
}

}  // namespace
}  // namespace nvs::core
