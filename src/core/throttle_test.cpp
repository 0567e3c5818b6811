// SPDX-License-Identifier: Apache-2.0
// Caps on GPU time: who has how much, alone and beside others, and what else does not change.
#include "core/throttle.h"

#include <utility>

#include "core/sim_caps.h"

namespace nvs::core {
namespace {

class Caps : public CapsTest {};

TEST_F(Caps, OneAloneHasItsPartOfEachPeriodToTheNanosecond) {
  for (int percent = 10; percent <= 90; percent += 10) {
    SimNode alone;
    alone.join(1, 1);
    alone.cap(1, percent);
    alone.saturate(1, 0, Duration{});
    for (int period = 1; period <= 20; ++period) {
      alone.pass(kPeriod);
      EXPECT_EQ(alone.used(1), kPeriod * percent / 100 * period);
    }
    EXPECT_EQ(alone.opened(1), 21) << "in one piece";
  }
}

TEST_F(Caps, WhoRunsOutIsClosedThoughNobodyWaits) {
  node.join(1, 1);
  node.cap(1, 50);
  node.want(1);
  EXPECT_EQ(node.effects_text(), "open client=1 gpu=0 grant=1 bounded queue_us=13333 capped\n");
  node.pass_ms(100);
  EXPECT_TRUE(node.is_closing(1));
  node.drained(1, 0, true);
  EXPECT_EQ(node.effects_text(), "get_ready client=1 gpu=0 in_us=100000\n");
  EXPECT_EQ(node.seat(1).state, TenantState::throttled);
  node.pass_ms(50);
  node.join(2, 1);
  node.want(2);
  EXPECT_FALSE(node.is_open(2)) << "a crumb";
  node.pass(Duration::from_ns(49'999'999));
  EXPECT_FALSE(node.is_open(1));
  EXPECT_EQ(node.seat(1).credit, Duration::from_ns(49'999'999));
  node.pass(Duration::from_ns(1));
  EXPECT_TRUE(node.is_open(1));
  EXPECT_EQ(node.seat(1).throttled, Duration::from_ms(100));
}

TEST_F(Caps, WhoHasNoneSharesWhatIsLeft) {
  all_work({10, 30, 0});
  expect_shares({10, 30, 60});
}

TEST_F(Caps, ACapIsNoClaim) {
  all_work({30, 60, 0});
  expect_shares({30, 35, 35});
}

TEST_F(Caps, WhatNobodyMayHaveIsNotUsed) {
  all_work({30, 60});
  expect_shares({30, 60});
  EXPECT_EQ(node.view().gpus[0].caps, 900'000U);
}

TEST_F(Caps, TooMuchIsScaledInProportion) {
  all_work({80, 40, 40});
  EXPECT_EQ(node.seat(1).cap, 800'000U);
  EXPECT_EQ(node.seat(1).cap_in_force, 500'000U);
  expect_shares({50, 25, 25});
  EXPECT_EQ(node.used(1) + node.used(2) + node.used(3), Duration::from_ms(20'000));
}

TEST_F(Caps, TheWholeGpuTwice) {
  all_work({100, 100});
  expect_shares({50, 50});
}

TEST_F(Caps, TheWholeGpuAloneIsNoCap) {
  all_work({100});
  node.pass_ms(20'000);
  EXPECT_EQ(node.opened(1), 1);
}

TEST_F(Caps, WhoReturnsTakesNothingInMidWindow) {
  all_work({10, 0, 0}, Duration{});
  const auto windows = [this] { return node.opened(2) + node.opened(3); };
  int returns = 0;
  int before = 0;
  int age_ms = 0;
  bool throttled = false;
  for (int ms = 0; ms < 10'000; ++ms) {
    node.pass_ms(1);
    age_ms = std::exchange(before, windows()) == before ? age_ms + 1 : 0;
    const TenantState state = node.seat(1).state;
    if (std::exchange(throttled, state == TenantState::throttled) && !throttled && age_ms < 38) {
      EXPECT_EQ(state, TenantState::waiting);
      ++returns;
    }
  }
  EXPECT_GT(returns, 10);
}

TEST_F(Caps, WhoIsThrottledDidNotGoToSleep) {
  all_work({10, 0});
  node.pass_ms(5'000);
  node.take_trace();
  node.pass_ms(5'000);
  const std::string trace = node.take_trace();
  EXPECT_NE(trace.find("client=2 gpu=0"), std::string::npos);
  EXPECT_EQ(trace.find(" bounded\n"), std::string::npos) << "short queues are for sleepers";
  EXPECT_EQ(trace.find(" bounded awaited"), std::string::npos);
}

TEST_F(Caps, ASleeperBelowItsCapIsNeverThrottled) {
  node.join(1, 1);
  node.cap(1, 30);
  all_work({});
  node.join(2, 2);
  node.saturate(2, 0, Duration::from_us(100));
  node.burst(1, 0, Duration::from_ms(2), Duration::from_ms(10));
  node.pass_ms(10'000);
  EXPECT_EQ(node.seat(1).throttled, Duration{});
  EXPECT_NEAR(node.used(1).seconds(), 2, 0.01);
}

TEST_F(Caps, AChangeHoldsAtOnce) {
  all_work({30, 60});
  node.pass_ms(5000);
  node.cap(1, 60);
  node.cap(2, 30);
  EXPECT_LE(node.seat(2).credit, Duration::from_ms(60));
  expect_shares({60, 30});
}

TEST_F(Caps, WithoutItsCapItRunsAtOnce) {
  all_work({10}, Duration{});
  node.pass_ms(50);
  EXPECT_EQ(node.seat(1).state, TenantState::throttled);
  node.cap(1, 0);
  EXPECT_EQ(node.effects_text(), "open client=1 gpu=0 grant=2\n");
  EXPECT_EQ(node.view().gpus[0].caps, 0U);
  node.pass_ms(10'000);
  EXPECT_TRUE(node.is_open(1));
}

TEST_F(Caps, WhoCouldNotDrainIsChargedAndAskedAgainThoughAlone) {
  node.join(1, 1);
  node.cap(1, 50);
  node.want(1);
  node.pass_ms(100);
  node.refused(1);
  EXPECT_EQ(node.seat(1).state, TenantState::loose);
  node.pass(kRefusalRetry);
  EXPECT_EQ(node.effects_text(), "close client=1 gpu=0 grant=1\n");
  node.drained(1, 0, true);
  EXPECT_EQ(node.seat(1).credit, -Duration::from_ms(500));
  node.pass_ms(1099);
  EXPECT_FALSE(node.is_open(1));
  node.pass_ms(1);
  EXPECT_TRUE(node.is_open(1));
}

TEST_F(Caps, AHigherClassIsServedFirstUntilItHasHadItsShare) {
  node.join(1, 1, Priority::high);
  node.cap(1, 50);
  node.saturate(1);
  node.join(2, 2);
  node.saturate(2);
  node.pass_ms(1000);
  expect_shares({50, 50});
}

TEST(ConcurrentCaps, TheDriversEvenSlicesAreCharged) {
  SimNode node(1, {Mode::concurrent, Duration::from_ms(20), {}});
  node.join(1, 1);
  node.join(2, 2);
  node.saturate(2);
  EXPECT_EQ(node.effects_text(), "open client=2 gpu=0 grant=1\n");
  node.cap(1, 20);
  node.saturate(1, 0, Duration{});
  EXPECT_EQ(node.effects_text(),
            "terms client=2 gpu=0 grant=1 bounded queue_us=1000000\n"
            "open client=1 gpu=0 grant=2 bounded queue_us=6666 capped\n");
  node.pass_ms(20'000);
  EXPECT_NEAR(node.used(1).seconds(), 8, 0.1) << "open for 40 %, of which it has half";
  EXPECT_EQ(node.used(2), Duration::from_ms(20'000));
  node.cap(2, 90);
  EXPECT_EQ(node.effects_text(), "terms client=2 gpu=0 grant=1 bounded queue_us=6666 capped\n");
  node.cap(2, 0);
  EXPECT_EQ(node.effects_text(), "terms client=2 gpu=0 grant=1 bounded queue_us=1000000\n");
  node.idle(2);
  const Duration before = node.used(1);
  node.pass_ms(20'000);
  EXPECT_NEAR((node.used(1) - before).seconds(), 4, 0.1);
  node.cap(1, 0);
  EXPECT_NE(node.effects_text().find("terms client=2 gpu=0 grant=1\n"), std::string::npos);
}

TEST(ConcurrentCaps, EachHasItsPartOfTimeThatAllAreBilledFor) {
  SimNode node(1, {Mode::concurrent, Duration::from_ms(20), {}});
  node.join(1, 1);
  node.join(2, 2);
  node.want(1);
  node.want(2);
  node.pass_ms(600);
  EXPECT_EQ(node.seat(2).had, Duration::from_ms(300)) << "in the middle of it";
  node.idle(2);
  node.pass_ms(400);
  EXPECT_EQ(node.used(1), Duration::from_ms(1000));
  EXPECT_EQ(node.seat(1).had, Duration::from_ms(700));
  EXPECT_EQ(node.used(2), Duration::from_ms(600));
  EXPECT_EQ(node.seat(2).had, Duration::from_ms(300));
  node.step(PolicySet{GpuId{0}, {Mode::automatic, Duration::from_ms(20), {}}});
  node.pass_ms(100);
  EXPECT_EQ(node.seat(1).had, Duration::from_ms(800));
}

TEST(ConcurrentCaps, WithACapTheOtherHasTheRest) {
  SimNode node(1, {Mode::concurrent, Duration::from_ms(20), {}});
  node.join(1, 1);
  node.join(2, 2);
  node.cap(1, 30);
  node.saturate(1, 0, Duration{});
  node.saturate(2);
  node.pass_ms(20'000);
  EXPECT_NEAR(node.seat(1).had.seconds(), 6, 0.1);
  EXPECT_NEAR((node.seat(1).had + node.seat(2).had).seconds(), 20, 1e-6);
}

TEST(ConcurrentCaps, AChangeOfModeChangesNoCredit) {
  SimNode node;
  node.join(1, 1);
  node.cap(1, 50);
  node.want(1);
  node.pass_ms(100);
  node.refused(1);
  node.pass_ms(50);
  const Duration credit = node.seat(1).credit;
  EXPECT_EQ(credit, -Duration::from_ms(25));
  for (const Mode mode : {Mode::concurrent, Mode::automatic}) {
    node.step(PolicySet{GpuId{0}, {mode, Duration::from_ms(20), {}}});
    EXPECT_EQ(node.seat(1).credit, credit);
  }
}

}  // namespace
}  // namespace nvs::core
