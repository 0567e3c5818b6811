// SPDX-License-Identifier: Apache-2.0
// Tenants that work in bursts: who takes the GPU from whom, and who is told to get ready.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/sim_node.h"
#include "core/two_gpus.h"

namespace nvs::core {
namespace {

constexpr int kFirst = 1;
constexpr int kSecond = 2;
constexpr int kThird = 3;

class Bursts : public testing::Test {
 protected:
  Bursts() {
    node.join(kFirst, 1);
    node.join(kSecond, 2);
  }
  // A burst of its own, with nobody beside it, and a sleep after it.
  void teach(int client, Duration length) {
    for (int i = 0; i < 3; ++i) {
      node.want(client);
      node.pass(length);
      node.drained(client);
      node.pass_ms(200);
    }
  }
  // The first one has worked for so long when the second one wakes up.
  void second_comes_after(Duration worked) {
    node.want(kFirst);
    node.pass(worked);
    node.want(kSecond);
  }
  SimNode node;
};

TEST_F(Bursts, OfEqualsNobodyTakesTheGpuFromTheOther) {
  teach(kSecond, Duration::from_ms(8));
  teach(kFirst, Duration::from_ms(8));
  second_comes_after(Duration::from_ms(5));
  EXPECT_FALSE(node.is_closing(kFirst)) << "it has 3 ms left, the other needs 8";
  node.pass_ms(3);
  node.drained(kFirst);
  EXPECT_TRUE(node.is_open(kSecond));
}

TEST_F(Bursts, AShorterOneGoesFirst) {
  teach(kSecond, Duration::from_ms(1));
  teach(kFirst, Duration::from_ms(15));
  second_comes_after(Duration::from_ms(5));
  EXPECT_TRUE(node.is_closing(kFirst));
}

TEST_F(Bursts, OneThatTakesMuchLongerThanItUsedToIsNoBurst) {
  teach(kSecond, Duration::from_ms(6));
  teach(kFirst, Duration::from_ms(4));
  second_comes_after(Duration::from_ms(10));
  EXPECT_TRUE(node.is_closing(kFirst));
}

TEST_F(Bursts, WhatTakesHardlyLessTimeWaits) {
  teach(kSecond, Duration::from_ms(7));
  teach(kFirst, Duration::from_ms(12));
  second_comes_after(Duration::from_ms(4));
  EXPECT_FALSE(node.is_closing(kFirst)) << "7 ms are too near to the 8 ms that are left";
}

TEST_F(Bursts, WhatTakesClearlyLessTimeDoesNot) {
  teach(kSecond, Duration::from_ms(5));
  teach(kFirst, Duration::from_ms(12));
  second_comes_after(Duration::from_ms(4));
  EXPECT_TRUE(node.is_closing(kFirst));
}

TEST_F(Bursts, WhatIsShorterThanTheHandoversWaits) {
  teach(kSecond, Duration::from_us(13));
  teach(kFirst, Duration::from_us(1500));
  second_comes_after(Duration::from_us(1100));
  EXPECT_FALSE(node.is_closing(kFirst)) << "it would cost the first one as much as the other gains";
}

// Nobody waited, so it said that it was idle only after a while.
TEST_F(Bursts, TheTimeInWhichAWindowIsKeptIsNoWork) {
  teach(kSecond, Duration::from_ms(4));
  for (int i = 0; i < 3; ++i) {
    node.want(kFirst);
    node.pass_ms(7 + 8);
    node.step(Drained{ClientId{kFirst}, GpuId{0}, node.grant(kFirst), false, Duration::from_ms(8)});
    node.pass_ms(200);
  }
  second_comes_after(Duration::from_ms(4));
  EXPECT_FALSE(node.is_closing(kFirst)) << "it has 3 ms left, the other needs 4";
}

TEST_F(Bursts, EachBurstInAWindowCountsByItself) {
  teach(kSecond, Duration::from_ms(4));
  teach(kFirst, Duration::from_ms(7));
  node.want(kFirst);
  for (int i = 0; i < 3; ++i) {
    node.pass_ms(7 + 5);
    node.step(WentIdle{ClientId{kFirst}, GpuId{0}, node.grant(kFirst), Duration::from_ms(5)});
    ASSERT_TRUE(node.is_open(kFirst));
    node.pass_ms(50);
    node.busy(kFirst);
  }
  node.pass_ms(7);
  node.drained(kFirst);
  second_comes_after(Duration::from_ms(4));
  EXPECT_FALSE(node.is_closing(kFirst)) << "it has 3 ms left, the other needs 4";
}

// All of it had been submitted when its window was taken.
TEST_F(Bursts, OneThatEndsWithADrainIsOver) {
  teach(kSecond, Duration::from_ms(1));
  for (int i = 0; i < 3; ++i) {
    second_comes_after(Duration::from_ms(5));
    ASSERT_TRUE(node.is_closing(kFirst)) << i;
    node.pass_ms(7);
    node.drained(kFirst);
    node.pass_ms(1);
    node.drained(kSecond);
    node.pass_ms(200);
  }
  node.join(kThird, 3);
  teach(kThird, Duration::from_ms(4));
  node.want(kFirst);
  node.pass_ms(9);
  node.want(kThird);
  EXPECT_FALSE(node.is_closing(kFirst)) << "it has 3 ms left, the other needs 4";
}

TEST_F(Bursts, OneThatIsInterruptedGoesOn) {
  node.join(kThird, 3);
  teach(kThird, Duration::from_ms(4));
  teach(kSecond, Duration::from_ms(1));
  teach(kFirst, Duration::from_ms(14));
  second_comes_after(Duration::from_ms(6));
  node.drained(kFirst);
  node.pass(Duration::from_us(500));
  node.want(kFirst);
  node.pass(Duration::from_us(500));
  node.drained(kSecond);
  ASSERT_TRUE(node.is_open(kFirst));
  node.pass_ms(5);
  node.want(kThird);
  EXPECT_FALSE(node.is_closing(kFirst)) << "of 14 ms it has done 11";
}

TEST_F(Bursts, WhatRunsBesideTheOthersIsNoBurst) {
  teach(kFirst, Duration::from_ms(1));
  teach(kSecond, Duration::from_ms(20));
  second_comes_after(Duration::from_ms(30));
  node.refused(kFirst);
  node.pass_ms(20);
  node.drained(kSecond);
  node.pass_ms(900);
  node.drained(kFirst);
  teach(kSecond, Duration::from_ms(20));
  teach(kFirst, Duration::from_ms(1));
  node.want(kSecond);
  node.pass_ms(5);
  node.want(kFirst);
  EXPECT_TRUE(node.is_closing(kSecond)) << "it needs some 10 ms, the other has 15 left";
}

// A long burst that is about to end may as well go on for a while.
TEST_F(Bursts, AShortOneDoesNotWaitForTheEndOfALongOne) {
  teach(kSecond, Duration::from_ms(1));
  teach(kFirst, Duration::from_ms(400));
  second_comes_after(Duration::from_ms(399));
  EXPECT_TRUE(node.is_closing(kFirst));
}

TEST_F(Bursts, WhoNeverRestsIsInterrupted) {
  teach(kSecond, Duration::from_ms(6));
  second_comes_after(Duration::from_ms(5));
  EXPECT_TRUE(node.is_closing(kFirst));
}

// On one GPU it does little, and keeps the others off as long as it works on the other.
TEST_F(TwoGpus, AGangIsNotSparedForTheLittleThatItDoes) {
  for (int i = 0; i < 3; ++i) {
    node.want(2, 1);
    node.pass(Duration::from_us(13));
    node.drained(2, 1);
    node.pass_ms(200);
  }
  for (int i = 0; i < 3; ++i) {
    gang_wants();
    node.pass(Duration::from_us(500));
    node.idle(9, 1);
    node.pass_ms(9);
    node.drained(9, 0);
    node.drained(9, 1);
    node.pass_ms(200);
  }
  gang_wants();
  node.pass(Duration::from_us(500));
  node.idle(9, 1);
  node.pass_ms(5);
  node.want(2, 1);
  EXPECT_TRUE(node.is_closing(9, 1));
}

// 0.4 ms should be left of it.
TEST_F(Bursts, WhoWasPutOffComesInWhenTheBurstTakesTooLong) {
  teach(kSecond, Duration::from_us(13));
  teach(kFirst, Duration::from_ms(2));
  second_comes_after(Duration::from_us(1600));
  EXPECT_FALSE(node.is_closing(kFirst));
  node.pass(Duration::from_us(800));
  EXPECT_FALSE(node.is_closing(kFirst));
  node.pass(Duration::from_us(101));
  EXPECT_TRUE(node.is_closing(kFirst)) << "it was to take 2 ms, and has taken 2.5";
  node.drained(kFirst);
  EXPECT_TRUE(node.is_open(kSecond));
}

TEST_F(Bursts, ANewcomerDoesNotMakeItForgotten) {
  node.join(kThird, 3);
  teach(kThird, Duration::from_us(13));
  teach(kSecond, Duration::from_us(13));
  teach(kFirst, Duration::from_ms(2));
  second_comes_after(Duration::from_us(1600));
  node.pass(Duration::from_us(100));
  node.want(kThird);
  EXPECT_FALSE(node.is_closing(kFirst));
  node.leave(kThird);
  node.pass(Duration::from_us(801));
  EXPECT_TRUE(node.is_closing(kFirst));
}

TEST_F(Bursts, AnHourAloneIsSoonForgotten) {
  node.want(kSecond);
  node.pass(Duration::from_s(3600));
  node.drained(kSecond);
  node.pass_ms(200);
  for (int i = 0; i < 8; ++i) teach(kSecond, Duration::from_ms(1));
  teach(kFirst, Duration::from_ms(15));
  second_comes_after(Duration::from_ms(5));
  EXPECT_TRUE(node.is_closing(kFirst));
}

const GetReady* told(const std::vector<Effect>& effects) {
  for (const Effect& effect : effects) {
    if (const auto* ready = std::get_if<GetReady>(&effect)) return ready;
  }
  return nullptr;
}

bool is_told(const std::vector<Effect>& effects, ClientId client) {
  return std::any_of(effects.begin(), effects.end(), [client](const Effect& effect) {
    const auto* ready = std::get_if<GetReady>(&effect);
    return ready != nullptr && ready->client == client;
  });
}

TEST_F(Bursts, WhoeverWaitsForAShortOneStaysAwake) {
  teach(kSecond, Duration::from_us(300));
  second_comes_after(Duration::from_ms(5));
  ASSERT_TRUE(node.is_closing(kFirst));
  node.step(Drained{ClientId{kFirst}, GpuId{0}, node.grant(kFirst), true});
  ASSERT_TRUE(node.is_open(kSecond));
  const GetReady* ready = told(node.effects());
  ASSERT_NE(ready, nullptr);
  EXPECT_EQ(ready->client, ClientId{kFirst});
  EXPECT_EQ(ready->in, Duration::from_us(300));
}

TEST_F(Bursts, WhoeverWaitsForALongOneSleeps) {
  teach(kSecond, Duration::from_ms(6));
  second_comes_after(Duration::from_ms(5));
  node.step(Drained{ClientId{kFirst}, GpuId{0}, node.grant(kFirst), true});
  ASSERT_TRUE(node.is_open(kSecond));
  EXPECT_EQ(told(node.effects()), nullptr);
}

// It takes it longer to wake up than the other one needs.
TEST_F(Bursts, WhoeverMakesWayForAShortOneDoesNotGoToSleep) {
  teach(kSecond, Duration::from_us(300));
  second_comes_after(Duration::from_ms(5));
  ASSERT_TRUE(node.is_closing(kFirst));
  node.step(StillDraining{ClientId{kFirst}, GpuId{0}, node.grant(kFirst), Duration::from_us(1500)});
  const GetReady* ready = told(node.effects());
  ASSERT_NE(ready, nullptr);
  EXPECT_EQ(ready->client, ClientId{kFirst});
  EXPECT_EQ(ready->in, Duration::from_us(1800));
}

// What drains may wait for the other one, which stands at its gate.
TEST_F(Bursts, WhoeverIsOneOfTwoProcessesIsNotToldThatItReturns) {
  constexpr int kFellow = 7;
  teach(kSecond, Duration::from_us(300));
  node.join(kFellow, 1);
  node.want(kFellow);
  node.drained(kFellow);
  second_comes_after(Duration::from_ms(5));
  ASSERT_TRUE(node.is_closing(kFirst));
  node.step(StillDraining{ClientId{kFirst}, GpuId{0}, node.grant(kFirst), Duration::from_us(1500)});
  EXPECT_FALSE(is_told(node.effects(), ClientId{kFirst}));
  EXPECT_TRUE(is_told(node.effects(), ClientId{kSecond}));
}

// It began with a short burst, and has not rested since.
TEST_F(Bursts, WhoeverMakesWayForOneThatUsedToWorkBrieflySleeps) {
  teach(kSecond, Duration::from_us(300));
  for (int i = 0; i < 3; ++i) {
    node.want(kSecond);
    node.want(kFirst);
    node.pass_ms(30);
    node.step(Drained{ClientId{kSecond}, GpuId{0}, node.grant(kSecond), true});
    ASSERT_TRUE(node.is_open(kFirst));
    node.pass_ms(30);
    ASSERT_TRUE(node.is_closing(kFirst));
    node.step(
        StillDraining{ClientId{kFirst}, GpuId{0}, node.grant(kFirst), Duration::from_us(1500)});
    EXPECT_FALSE(is_told(node.effects(), ClientId{kFirst})) << i;
    node.step(Drained{ClientId{kFirst}, GpuId{0}, node.grant(kFirst), true});
  }
}

TEST_F(Bursts, WhoTakesTurnsDoesNotKeepAWindowThatItDoesNotUse) {
  teach(kFirst, Duration::from_ms(6));
  node.want(kSecond);
  node.pass_ms(6);
  node.idle(kSecond);
  EXPECT_TRUE(node.is_closing(kSecond)) << "the next one to come will be the first";
  node.drained(kSecond);
  node.want(kFirst);
  EXPECT_TRUE(node.is_open(kFirst));
}

TEST_F(Bursts, WhoIsMostlyAloneKeepsItsWindow) {
  teach(kFirst, Duration::from_ms(6));
  teach(kSecond, Duration::from_ms(6));
  node.want(kSecond);
  node.pass_ms(6);
  node.idle(kSecond);
  EXPECT_TRUE(node.is_open(kSecond)) << "it was the last one as well";
}

}  // namespace
}  // namespace nvs::core
