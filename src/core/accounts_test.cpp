// SPDX-License-Identifier: Apache-2.0
// What tenants with caps save and owe, when their caps count, and what is charged.
#include "core/accounts.h"

#include "core/sim_caps.h"

namespace nvs::core {
namespace {

class Accounts : public CapsTest {};

TEST_F(Accounts, WhatASleeperSavesIsItsPartOfAPeriod) {
  node.join(1, 1);
  node.cap(1, 50);
  node.saturate(1, 0, Duration{});
  node.pass_ms(50);
  node.idle(1);
  node.pass_ms(10'000);
  node.busy(1);
  EXPECT_EQ(node.seat(1).credit, Duration::from_ms(100));
  node.cap(1, 10);
  EXPECT_EQ(node.seat(1).credit, Duration::from_ms(20)) << "a new cap knows nothing of the old one";
}

// A tenant without a cap took half of the GPU, so that the other one has saved all it may.
TEST_F(Accounts, AChangeLeavesEverybodyWhatItMaySaveUnderTheNewCaps) {
  all_work({90, 0});
  node.pass_ms(5000);
  EXPECT_GT(node.seat(1).credit, Duration::from_ms(1000));
  node.cap(2, 40);
  const Duration window = Duration::from_ms(40) * 90 / 130;  // its part of somebody's
  EXPECT_GT(node.seat(1).credit, kPeriod / 4);
  EXPECT_LE(node.seat(1).credit, kPeriod / 4 + window);
}

TEST_F(Accounts, WhatOneCouldNotHaveBecauseOfOthersIsOwedToIt) {
  all_work({30}, Duration::from_ms(290));
  node.join(2, 2);
  node.cap(2, 60);
  node.saturate(2);
  node.pass_ms(2000);
  expect_shares({30, 60});
}

// It counts for as long as it had work, and at most for a period more.
TEST_F(Accounts, WhoIsIdleDoesNotCount) {
  all_work({75, 75});
  node.pass_ms(2000);
  EXPECT_EQ(node.view().gpus[0].caps, 1'500'000U);
  node.leave(2);
  node.join(2, 2);
  node.cap(2, 75);
  EXPECT_EQ(node.view().gpus[0].caps, 750'000U) << "who left does not count at all";
  for (const auto& [worked, counts] : {std::pair{Duration::from_ms(30), Duration::from_ms(30)},
                                       std::pair{kPeriod + Duration::from_ms(30), kPeriod}}) {
    const Instant began = node.now();
    node.want(2);
    EXPECT_EQ(node.view().gpus[0].caps, 1'500'000U);
    while (!node.is_open(2)) node.pass(Duration::from_us(100));
    if (node.now() - began < worked) node.pass(worked - (node.now() - began));
    node.drained(2);
    const Duration rest = std::min(node.now() - began, counts);
    node.pass(rest - Duration::from_ns(1));
    EXPECT_EQ(node.view().gpus[0].caps, 1'500'000U);
    node.pass(Duration::from_ns(1));
    EXPECT_EQ(node.view().gpus[0].caps, 750'000U);
  }
  node.pass_ms(2000);
  EXPECT_NEAR(shares(1)[0], 75, 0.5);
}

// Busy for a tenth of the time, it does not take half of the GPU from the other one.
TEST_F(Accounts, WhoNapsTakesLittleFromTheOthers) {
  all_work({75}, Duration{});
  node.join(2, 2);
  node.cap(2, 75);
  node.burst(2, 0, Duration::from_ms(6), Duration::from_ms(60));
  node.pass_ms(2000);
  EXPECT_GT(shares(1)[0], 68);
}

TEST_F(Accounts, APausedOneDoesNotCount) {
  all_work({75, 75});
  node.pass_ms(2000);
  node.step(TenantPaused{TenantId{2}});
  EXPECT_EQ(node.view().gpus[0].caps, 750'000U);
  node.pass_ms(2000);
  EXPECT_NEAR(shares(1)[0], 75, 0.5);
  node.step(TenantResumed{TenantId{2}});
  EXPECT_EQ(node.view().gpus[0].caps, 1'500'000U);
  EXPECT_LE(node.seat(2).credit, kPeriod * 75 / 100);
  expect_shares({50, 50});
}

TEST_F(Accounts, WhatAProcessOwesItsTenantsNextOneOwes) {
  node.join(1, 1);
  node.cap(1, 50);
  node.want(1);
  node.pass_ms(90);
  const auto credit = [](int ms) {
    SimNode fresh;
    fresh.join(1, 1);
    fresh.cap(1, 50);
    fresh.step(CreditSet{TenantId{1}, GpuId{0}, Duration::from_ms(ms)});
    fresh.pass_ms(10);
    fresh.want(1);
    return fresh.seat(1).credit;
  };
  EXPECT_EQ(credit(-100), -Duration::from_ms(95));
  EXPECT_EQ(credit(20), Duration::from_ms(25));
  EXPECT_EQ(credit(1000), Duration::from_ms(50)) << "no more than whoever is new";
  node.join(2, 2);
  node.cap(2, 50);
  node.want(2);
  node.step(CreditSet{TenantId{2}, GpuId{0}, -Duration::from_s(1)});
  EXPECT_EQ(node.seat(2).state, TenantState::throttled) << "though it stood in line";
  node.leave(2);
  node.step(CreditSet{TenantId{1}, GpuId{0}, -Duration::from_s(1)});
  EXPECT_EQ(node.seat(1).credit, Duration::from_ms(5)) << "it has used the GPU since it came";
  node.cap(1, 0);
  node.cap(1, 50);
  EXPECT_EQ(node.seat(1).credit, Duration::from_ms(50));
}

TEST_F(Accounts, TimeWithoutWorkIsTakenBackAndTimeWithWorkAdded) {
  node.join(1, 1);
  node.cap(1, 50);
  node.want(1);
  node.pass_ms(10);
  const auto said = [this](auto event) {
    event.grant = node.grant(1);
    node.step(event);
  };
  said(WentIdle{ClientId{1}, GpuId{0}, {}, Duration::from_ms(3)});
  EXPECT_EQ(node.used(1), Duration::from_ms(7));
  EXPECT_EQ(node.seat(1).credit, Duration::from_ms(50 + 5 - 7));
  node.pass_ms(10);
  said(WentBusy{ClientId{1}, GpuId{0}, {}, Duration::from_ms(4)});
  EXPECT_EQ(node.used(1), Duration::from_ms(11));
  node.pass_ms(2);
  said(WentIdle{ClientId{1}, GpuId{0}, {}, Duration::from_ms(100)});
  EXPECT_EQ(node.used(1), Duration::from_ms(11)) << "no more than since it said that it was busy";
  node.pass_ms(5);
  said(WentBusy{ClientId{1}, GpuId{0}, {}, Duration::from_ms(100)});
  EXPECT_EQ(node.used(1), Duration::from_ms(16)) << "no more than since it said that it was not";
  node.pass_ms(10);
  said(Drained{ClientId{1}, GpuId{0}, {}, false, Duration::from_ms(1)});
  EXPECT_EQ(node.used(1), Duration::from_ms(25));
}

TEST_F(Accounts, TimeInWhichAnotherOfItsProcessesWorkedIsNotTakenBack) {
  node.join(1, 1);
  node.join(2, 1);
  node.want(1);
  node.want(2);
  node.pass_ms(10);
  node.step(WentIdle{ClientId{1}, GpuId{0}, node.grant(1), Duration::from_ms(9)});
  EXPECT_EQ(node.used(1), Duration::from_ms(10));
  node.pass_ms(2);
  node.step(WentIdle{ClientId{2}, GpuId{0}, node.grant(2), Duration::from_ms(9)});
  EXPECT_EQ(node.used(1), Duration::from_ms(10));
  node.busy(1);
  node.busy(2);
  node.pass_ms(10);
  node.leave(1);
  node.pass_ms(2);
  node.step(WentIdle{ClientId{2}, GpuId{0}, node.grant(2), Duration::from_ms(9)});
  EXPECT_EQ(node.used(1), Duration::from_ms(20)) << "nor that of one that left";
}

TEST_F(Accounts, TheDebtOfALongKernelIsPaidInFull) {
  all_work({10}, Duration::from_ms(250));
  node.pass_ms(200'000);
  EXPECT_NEAR(node.used(1).seconds(), 20, 0.3);
}

TEST_F(Accounts, WhatIsOwedIsBounded) {
  node.join(1, 1, Priority::low);
  node.cap(1, 40);
  node.saturate(1);
  node.join(2, 2, Priority::high);
  node.saturate(2);
  node.pass_ms(60'000);
  EXPECT_LE(node.used(1), Duration::from_ms(4000)) << "the floor of its class";
  while (!node.is_open(1)) node.pass_ms(1);
  EXPECT_LE(node.seat(1).credit, kQuotaCarry * 40 / 100);
  EXPECT_GE(node.seat(1).credit, kQuotaCarry * 38 / 100);
}

TEST_F(Accounts, AShortPauseDoesNotCostWhatIsOwed) {
  node.join(1, 1);
  node.cap(1, 40);
  node.join(2, 2);
  node.want(2);
  node.want(1);
  node.pass_ms(250);  // it does not answer for a while
  node.drained(2);
  EXPECT_TRUE(node.is_open(1));
  const Duration owed = Duration::from_ms(48 + 100);
  EXPECT_EQ(node.seat(1).credit, owed);
  node.idle(1);
  node.pass_ms(100);
  node.busy(1);
  EXPECT_EQ(node.seat(1).credit, owed);
  node.idle(1);
  node.pass(kPeriod);
  node.busy(1);
  EXPECT_EQ(node.seat(1).credit, kPeriod * 40 / 100) << "a long one does";
}

TEST_F(Accounts, WhoWasFoundOpenCountsAndIsChargedToo) {
  node.join(1, 1);
  node.cap(1, 50);
  node.found_open(1);
  EXPECT_EQ(node.view().gpus[0].caps, 500'000U);
  node.pass_ms(100);
  EXPECT_TRUE(node.is_closing(1));
  node.drained(1);
  node.found_open(1);
  EXPECT_TRUE(node.is_closing(1)) << "it has had its share";
}

TEST_F(Accounts, NothingReachesBackBeyondTheCap) {
  node.join(1, 1);
  node.want(1);
  node.step(WentIdle{ClientId{1}, GpuId{0}, node.grant(1)});
  node.pass_ms(10'000);
  node.cap(1, 25);
  const Duration credit = node.seat(1).credit;
  node.step(WentBusy{ClientId{1}, GpuId{0}, node.grant(1), Duration::from_ms(10'000)});
  EXPECT_EQ(node.seat(1).credit, credit);
}

TEST_F(Accounts, AChangeOfACapCutsWhatTheOthersSaved) {
  all_work({30, 0, 0, 0, 0, 0});
  node.pass_ms(5000);
  EXPECT_GT(node.seat(1).credit, Duration::from_ms(200)) << "it had a sixth";
  const Duration credit = node.seat(1).credit;
  node.step(CapSet{TenantId{3}, kWholeGpu / 2, false});
  EXPECT_EQ(node.seat(1).credit, credit) << "a tenant has no say in what others are owed";
  node.cap(2, 50);
  EXPECT_LE(node.seat(1).credit, Duration::from_ms(60));
}

}  // namespace
}  // namespace nvs::core
