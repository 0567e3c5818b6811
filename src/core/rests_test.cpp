// SPDX-License-Identifier: Apache-2.0
// Pauses in turns of serial mode (ADR-0033): whoever comes back soon has the rest of its turn.
#include <gtest/gtest.h>

#include "core/sim_node.h"

namespace nvs::core {
namespace {

constexpr Duration kTurn = Duration::from_s(5);

class Rests : public testing::Test {
 protected:
  Rests() {
    for (int client : {1, 2}) node.join(client, client);
    node.want(1);
    node.saturate(2);
  }
  // Works and pauses, and gives its window up for each pause as the library does.
  void work_and_pause(int client, Duration work, Duration pause, Duration span) {
    for (const Instant end = node.now() + span; node.now() < end;) {
      if (!node.is_open(client)) node.want(client);
      while (!node.is_open(client) && node.now() < end) node.pass_ms(1);
      node.pass(work);
      if (node.is_closing(client)) {
        node.drained(client, 0, true);
      } else if (node.is_open(client)) {
        node.drained(client);
        node.pass(pause);
      }
    }
  }

  SimNode node{1, {Mode::serial, Duration::from_ms(20), kTurn}};
};

TEST_F(Rests, ShareEquallyWithOneThatSaturates) {
  work_and_pause(1, Duration::from_ms(47), Duration::from_ms(1), Duration::from_s(40));
  EXPECT_NEAR(node.used(1).seconds(), 20, 1);
  EXPECT_NEAR(node.used(2).seconds(), 20, 1);
  EXPECT_LE(node.view().gpus[0].switches, 10U) << "whole turns";
}

TEST_F(Rests, HaveTheRestOfTheTurnAndNoOther) {
  node.pass_ms(4000);
  node.drained(1);
  node.pass_ms(99);
  EXPECT_FALSE(node.is_open(2));
  node.want(1);
  EXPECT_TRUE(node.is_open(1));
  EXPECT_EQ(node.seat(1).windows, 1U);
  node.pass_ms(900);
  EXPECT_TRUE(node.is_open(1));
  node.pass_ms(1);
  EXPECT_TRUE(node.is_closing(1));
}

TEST_F(Rests, EndWithTheTurn) {
  node.pass_ms(4950);
  node.drained(1);
  node.pass_ms(49);
  EXPECT_FALSE(node.is_open(2));
  node.pass_ms(1);
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Rests, AreShort) {
  node.pass_ms(100);
  node.drained(1);
  node.pass(kRestMin - Duration::from_ns(1));
  EXPECT_FALSE(node.is_open(2));
  node.pass(Duration::from_ns(1));
  EXPECT_TRUE(node.is_open(2));
  node.want(1);
  EXPECT_FALSE(node.is_closing(2)) << "it waits for a turn of its own";
}

TEST_F(Rests, TakeNoMoreThanHalfOfTheTurn) {
  node.pass_ms(20);
  node.drained(1);
  node.pass_ms(29);
  EXPECT_FALSE(node.is_open(2));
  node.want(1);
  node.pass_ms(5);
  node.drained(1);
  EXPECT_FALSE(node.is_open(2)) << "25 ms of 54 are used";
  node.pass_ms(6);
  EXPECT_TRUE(node.is_open(2)) << "25 ms of 60, of which 10 are free";
}

// Nobody who uses little keeps the GPU from the others for a whole turn.
TEST(RestsOfIdle, TenantsAreShort) {
  SimNode node{1, {Mode::serial, Duration::from_ms(20), {}}};
  for (int client : {1, 2, 3}) {
    node.join(client, client);
    node.burst(client, 0, Duration::from_ms(10), Duration::from_ms(100));
  }
  node.pass_ms(60'000);
  for (int tenant : {1, 2, 3}) {
    EXPECT_NEAR(node.used(tenant).seconds(), 6, 0.1);
    EXPECT_LE(node.seat(tenant).longest_wait, Duration::from_ms(100));
  }
}

TEST_F(Rests, DoNotBeginAnewWithACap) {
  node.pass_ms(100);
  node.drained(1);
  node.pass_ms(60);
  node.cap(1, 50);
  node.pass_ms(39);
  EXPECT_FALSE(node.is_open(2));
  node.pass_ms(1);
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Rests, AreOnNobodysBill) {
  node.pass_ms(100);
  node.drained(1);
  node.pass_ms(90);
  EXPECT_EQ(node.used(1), Duration::from_ms(100));
  EXPECT_EQ(node.used(2), Duration{});
}

TEST_F(Rests, OfOneThatLeavesHoldNobodyUp) {
  node.drained(1);
  EXPECT_FALSE(node.is_open(2));
  node.leave(1);
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Rests, OfOneThatIsPausedHoldNobodyUp) {
  node.drained(1);
  EXPECT_FALSE(node.is_open(2));
  node.step(TenantPaused{TenantId{1}});
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Rests, AreForSerialModeAlone) {
  node.drained(1);
  EXPECT_FALSE(node.is_open(2));
  node.step(PolicySet{GpuId{0}, {}});
  EXPECT_TRUE(node.is_open(2));
  node.pass_ms(5);
  node.want(1);
  node.drained(2);
  EXPECT_TRUE(node.is_open(1)) << "one that pauses gives its window up at once";
}

TEST_F(Rests, DoNotHoldUpAHigherClass) {
  node.join(3, 3, Priority::high);
  node.drained(1);
  node.pass_ms(1);
  node.want(3);
  EXPECT_TRUE(node.is_open(3));
}

TEST_F(Rests, AreNotForOneThatAHigherClassWaitsFor) {
  node.join(3, 3, Priority::high);
  node.want(3);
  EXPECT_FALSE(node.is_open(3)) << "nobody takes it in the middle of a turn";
  node.drained(1);
  EXPECT_TRUE(node.is_open(3));
}

// The floor of its class would be void: as soon as it pauses, a high one had a whole turn.
TEST(RestsOfClasses, KeepATurnThatWasOwed) {
  SimNode node{1, {Mode::serial, Duration::from_ms(20), kTurn}};
  node.join(1, 1);
  node.join(2, 2, Priority::high);
  node.saturate(2);
  node.want(1);
  while (!node.is_open(1)) node.pass_ms(1);
  node.pass_ms(50);
  node.drained(1);
  node.pass_ms(10);
  EXPECT_FALSE(node.is_open(2));
  node.want(1);
  EXPECT_TRUE(node.is_open(1));
}

TEST_F(Rests, OfAHigherClassHoldUpALowerOne) {
  node.step(PrioritySet{TenantId{1}, Priority::high});
  node.pass_ms(100);
  node.drained(1);
  node.pass_ms(99);
  EXPECT_FALSE(node.is_open(2));
  node.pass_ms(1);
  EXPECT_TRUE(node.is_open(2));
}

// After a restart of the daemon, say.
TEST_F(Rests, AreNotBesideOneThatStillDrains) {
  node.pass_ms(50);
  node.idle(1);
  node.join(3, 3);
  node.found_open(3);
  EXPECT_TRUE(node.is_closing(3));
  node.drained(1);
  node.want(1);
  EXPECT_FALSE(node.is_open(1));
  node.drained(3);
  EXPECT_TRUE(node.is_open(1) || node.is_open(2));
}

// The other process of its tenant had no work.
TEST_F(Rests, AreNotForWorkThatHasGoneWithItsClient) {
  node.join(3, 1);
  node.want(3);
  node.pass_ms(50);
  node.drained(3);
  node.pass_ms(50);
  node.leave(1);
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Rests, DoNotEndWithAClientThatHadNoWork) {
  node.join(3, 1);
  node.want(3);
  node.pass_ms(50);
  node.drained(3);
  node.pass_ms(50);
  node.drained(1);
  node.pass_ms(1);
  node.leave(3);
  EXPECT_FALSE(node.is_open(2));
  node.want(1);
  EXPECT_TRUE(node.is_open(1));
}

// Whether it says that it is idle or gives its window up.
TEST_F(Rests, AreTheSameInAnOpenWindow) {
  node.pass_ms(100);
  node.idle(1);
  node.pass_ms(60);
  EXPECT_TRUE(node.is_open(1));
  node.drained(1);
  node.pass_ms(39);
  EXPECT_FALSE(node.is_open(2));
  node.pass_ms(1);
  EXPECT_TRUE(node.is_open(2));
}

TEST(RestsAlone, LeaveNothingBehind) {
  SimNode node{1, {Mode::serial, Duration::from_ms(20), kTurn}};
  node.join(1, 1);
  node.want(1);
  node.drained(1);
  node.pass(kRestMin);
  EXPECT_EQ(node.view().gpus[0].holder, std::nullopt);
  EXPECT_EQ(node.deadline(), std::nullopt);
}

TEST(RestsAlone, EndWithTheMode) {
  SimNode node{1, {Mode::serial, Duration::from_ms(20), kTurn}};
  node.join(1, 1);
  node.want(1);
  node.drained(1);
  EXPECT_EQ(node.view().gpus[0].holder, TenantId{1});
  node.step(PolicySet{GpuId{0}, {Mode::concurrent, Duration::from_ms(20), {}}});
  EXPECT_EQ(node.view().gpus[0].holder, std::nullopt);
}

TEST(RestsOfCapped, OneThatHasHadItsShareHoldsNobodyUp) {
  SimNode node{1, {Mode::serial, Duration::from_ms(20), kTurn}};
  for (int client : {1, 2}) node.join(client, client);
  node.cap(1, 10);
  node.want(1);
  node.want(2);
  while (!node.is_closing(1)) node.pass_ms(1);
  node.drained(1);
  EXPECT_TRUE(node.is_open(2));
}

// What it saves while the other has its turn is not lost if that one happens to pause at its end.
TEST(RestsOfCapped, CostNobodyWhatItHasSaved) {
  SimNode node{1, {Mode::serial, Duration::from_ms(20), {}}};
  for (int client : {1, 2}) node.join(client, client);
  node.cap(1, 30);
  node.saturate(1);
  node.burst(2, 0, Duration::from_ms(60), Duration::from_ms(100));
  node.pass_ms(1'200'000);
  EXPECT_NEAR(node.used(1).seconds(), 360, 10);
}

// It goes idle with the last of its credit.
TEST(RestsOfCapped, OneThatIsDoneWithItsShareHoldsNobodyUp) {
  SimNode node{1, {Mode::serial, Duration::from_ms(20), kTurn}};
  for (int client : {1, 2}) node.join(client, client);
  node.cap(1, 10);
  node.burst(1, 0, Duration::from_ms(20), Duration::from_s(10));
  node.pass(Duration{});
  node.want(2);
  node.pass_ms(20);
  EXPECT_TRUE(node.is_open(2));
}

TEST(RestsOfCapped, OneThatHasHadItsShareElsewhereHoldsNobodyUp) {
  SimNode node{2, {Mode::serial, Duration::from_ms(20), kTurn}};
  for (int client : {1, 2}) node.join(client, client);
  node.cap(1, 10);
  node.want(1, 0);
  node.pass_ms(15);
  node.want(2, 0);
  node.drained(1, 0);
  EXPECT_FALSE(node.is_open(2, 0));
  node.want(1, 1);
  while (!node.is_closing(1, 1)) node.pass_ms(1);
  EXPECT_TRUE(node.is_open(2, 0));
}

}  // namespace
}  // namespace nvs::core
