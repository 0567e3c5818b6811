// SPDX-License-Identifier: Apache-2.0
#include "core/quota.h"

#include <random>

#include <gtest/gtest.h>

namespace nvs::core {
namespace {

constexpr Share kPercent = kWholeGpu / 100;

Instant at_ns(std::int64_t ns) { return Instant::from_ns(ns); }
Duration ns(std::int64_t count) { return Duration::from_ns(count); }

TEST(Quota, BillsAddUp) {
  Bill bill;
  bill.add(Duration::from_ms(3));
  bill.add(Duration::from_ms(4));
  EXPECT_EQ(bill.used(), Duration::from_ms(7));
}

TEST(Quota, TheClockIsSlowerByAsMuchAsCapsExceedTheGpu) {
  QuotaClock clock;
  clock.add(60 * kPercent, at_ns(0));
  EXPECT_EQ(clock.at(at_ns(1000)), ns(1000));
  EXPECT_EQ(clock.in_force(60 * kPercent, true), 60 * kPercent);
  clock.add(90 * kPercent, at_ns(1000));
  EXPECT_EQ(clock.at(at_ns(2500)), ns(2000)) << "150 % take one and a half times as long";
  EXPECT_EQ(clock.in_force(60 * kPercent, true), 40 * kPercent);
  EXPECT_EQ(clock.when(ns(2001)), at_ns(2502)) << "the first moment at which it shows that";
  clock.remove(60 * kPercent, at_ns(2500));
  EXPECT_EQ(clock.at(at_ns(2600)), ns(2100));
  EXPECT_EQ(clock.in_force(60 * kPercent, false), 40 * kPercent) << "if it came back";
  EXPECT_EQ(clock.sum(), 90 * kPercent);
}

// Of a nanosecond nothing is lost while the sum stays, and a millionth of it with each change.
TEST(Quota, TheClockDoesNotDrift) {
  std::mt19937_64 random(1);
  QuotaClock clock;
  Wide picoseconds = 0;
  std::int64_t now = 0;
  Share cap = 30 * kPercent;
  clock.add(cap, at_ns(0));
  for (int step = 0; step < 1'000'000; ++step) {
    const auto span = static_cast<std::int64_t>(random() % 1'000'000);
    now += span;
    picoseconds += Wide{span} * 1'000'000'000 / std::max(cap, kWholeGpu);
    if (step % 10 != 0) continue;
    clock.remove(cap, at_ns(now));
    cap = static_cast<Share>(1 + random() % (40 * kWholeGpu));
    clock.add(cap, at_ns(now));
  }
  const std::int64_t exact = static_cast<std::int64_t>(picoseconds / 1000);
  EXPECT_NEAR(static_cast<double>(clock.at(at_ns(now)).ns() - exact), 0, 1001);
  EXPECT_EQ(clock.when(clock.at(at_ns(now))).ns() / 100, now / 100);
}

TEST(Quota, AnAccountIsExactOverAMillionSteps) {
  std::mt19937_64 random(2);
  constexpr Share kCap = 333'333;
  Account account(kCap, ns(5), ns(0));
  Wide level = Wide{5} * kWholeGpu;
  std::int64_t now = 0;
  for (int step = 0; step < 1'000'000; ++step) {
    const auto span = static_cast<std::int64_t>(random() % 1'000'000);
    const auto used = static_cast<std::int64_t>(random() % 333'000);
    now += span;
    account.charge(ns(used), ns(now));
    account.set_cap(kCap, ns(now));
    level += Wide{span} * kCap - Wide{used} * kWholeGpu;
  }
  const Wide exact = level >= 0 ? level / kWholeGpu : (level - kWholeGpu + 1) / kWholeGpu;
  EXPECT_EQ(account.credit(ns(now)).ns(), static_cast<std::int64_t>(exact));
}

TEST(Quota, AnAccountSaysWhenItHasSavedAndHowLongItLasts) {
  QuotaClock clock;
  clock.add(25 * kPercent, at_ns(0));
  Account account(25 * kPercent, ns(-10), ns(0));
  EXPECT_EQ(account.when(ns(20)), ns(120));
  EXPECT_EQ(account.credit(ns(119)), ns(19));
  EXPECT_EQ(account.credit(ns(120)), ns(20));
  EXPECT_EQ(account.lasts(ns(340), clock, 1), ns(100)) << "75 saved, and a quarter comes in again";
  EXPECT_EQ(account.lasts(ns(340), clock, 2), ns(300)) << "one of two loses half as fast";
  EXPECT_EQ(account.lasts(ns(340), clock, 4), std::nullopt) << "it has no more than it earns";
  clock.add(75 * kPercent + kWholeGpu, at_ns(0));
  EXPECT_EQ(account.lasts(ns(336), clock, 1), ns(85));
}

TEST(Quota, WhatIsSavedAndWhatIsOwedIsBounded) {
  Account account(50 * kPercent, {}, {});
  account.keep_at_most(ns(100), ns(1000));
  EXPECT_EQ(account.credit(ns(1000)), ns(100));
  account.keep_at_most(ns(200), ns(1000));
  EXPECT_EQ(account.credit(ns(1000)), ns(100));
  account.charge(kQuotaDebtMax * 3, ns(1000));
  EXPECT_EQ(account.credit(ns(1000)), -kQuotaDebtMax);
}

TEST(Quota, AQuantumIsWhatOneAloneHasInAPeriodWithoutWhatComesInMeanwhile) {
  const Duration period = Duration::from_ms(200);
  EXPECT_EQ(quantum_of(period, 25 * kPercent), Duration::from_us(37'500));
  EXPECT_EQ(quantum_of(period, 90 * kPercent), Duration::from_ms(18));
  EXPECT_EQ(quantum_of(period, kWholeGpu), Duration::from_ms(20)) << "no crumbs where it is scaled";
  EXPECT_EQ(part_of(Duration::from_s(3600), 1), Duration::from_us(3600)) << "and no overflow";
}

}  // namespace
}  // namespace nvs::core
