// SPDX-License-Identifier: Apache-2.0
#include "daemon/departed_quota.h"

#include <gtest/gtest.h>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

constexpr Instant kThen = Instant::from_ns(5'000'000'000);
constexpr core::GpuId kOwedGpu{0};

DepartedQuota::Kept owing(Duration debt, core::Share cap = 500'000) {
  DepartedQuota::Kept kept;
  kept.cap = cap;
  kept.credit[kOwedGpu] = -debt;
  return kept;
}

TEST(DepartedQuota, WhatIsOwedIsPaidWhileItIsAway) {
  DepartedQuota departed;
  departed.keep(kThen, "container:/a", owing(Duration::from_s(10)));
  EXPECT_FALSE(departed.recall(kThen, "container:/b"));
  const auto kept = departed.recall(kThen + Duration::from_s(4), "container:/a");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->credit.at(kOwedGpu), Duration::from_s(-8));
}

TEST(DepartedQuota, AProgramThatDoesNothingPaysNoDebts) {
  DepartedQuota departed;
  departed.keep(kThen, "container:/a", owing(Duration::from_s(10)));
  DepartedQuota::Kept idle;  // it came and left, and used another GPU only
  idle.cap = 500'000;
  idle.credit[core::GpuId{1}] = Duration::from_s(-1);
  departed.keep(kThen + Duration::from_s(4), "container:/a", idle);
  const auto kept = departed.recall(kThen + Duration::from_s(6), "container:/a");
  EXPECT_EQ(kept->credit.at(kOwedGpu), Duration::from_s(-7));
  EXPECT_EQ(kept->credit.at(core::GpuId{1}), Duration{});
  departed.keep(kThen + Duration::from_s(6), "container:/a", owing(Duration::from_s(2)));
  EXPECT_EQ(departed.recall(kThen + Duration::from_s(6), "container:/a")->credit.at(kOwedGpu),
            Duration::from_s(-2))
      << "what it has used counts";
  departed.keep(kThen + Duration::from_s(6), "container:/a", {});
  EXPECT_EQ(departed.size(), 0U) << "it has no cap any more";
}

// Each of many short programs uses more than its cap would give it.
TEST(DepartedQuota, ManyShortProgramsHaveNoMoreThanOne) {
  DepartedQuota departed;
  Duration credit;
  for (int i = 0; i < 100; ++i) {
    const Instant now = kThen + Duration::from_ms(100) * i;
    if (const auto kept = departed.recall(now, "run:0:1")) credit = kept->credit.at(kOwedGpu);
    credit -= Duration::from_ms(90);
    departed.keep(now, "run:0:1", owing(-credit, 100'000));
  }
  EXPECT_EQ(credit, Duration::from_ms(99 * 10 - 100 * 90));
}

TEST(DepartedQuota, LimitsLastForAWhile) {
  DepartedQuota departed;
  DepartedQuota::Kept kept;
  kept.limits.bring(LimitSource::environment, 30);
  departed.keep(kThen, "container:/a", kept);
  EXPECT_EQ(departed.recall(kThen + kDepartedQuotaTime - Duration::from_ns(1), "container:/a")
                ->limits.cores()
                .value,
            30U);
  departed.keep(kThen, "container:/a", kept);
  EXPECT_FALSE(departed.recall(kThen + kDepartedQuotaTime, "container:/a"));
  const Duration debt = kDepartedQuotaTime;  // takes twice as long to pay
  departed.keep(kThen, "container:/a", owing(debt));
  EXPECT_TRUE(departed.recall(kThen + kDepartedQuotaTime, "container:/a"));
  departed.keep(kThen, "container:/a", owing(debt));
  EXPECT_FALSE(departed.recall(kThen + kDepartedQuotaTime * 2, "container:/a"));
}

TEST(DepartedQuota, WhereThereIsNothingToKeepNothingIs) {
  DepartedQuota departed;
  departed.keep(kThen, "container:/a", {});
  departed.keep(kThen, "container:/b", owing(Duration::from_s(1), core::kNoCap));
  departed.keep(kThen, "process:1:2", owing(Duration::from_s(1)));
  EXPECT_EQ(departed.size(), 0U);
}

TEST(DepartedQuota, ItIsBoundedAndContainersAreKeptLongest) {
  DepartedQuota departed;
  const auto leave = [&](const std::string& key) {
    departed.keep(kThen, key, owing(Duration::from_s(1)));
  };
  leave("container:/a");
  leave("run:0:first");
  for (std::size_t i = 0; i < 2 * kDepartedQuotaMax; ++i) leave("run:0:" + std::to_string(i));
  EXPECT_EQ(departed.size(), kDepartedQuotaMax);
  EXPECT_FALSE(departed.recall(kThen, "run:0:first"));
  EXPECT_TRUE(departed.recall(kThen, "run:0:" + std::to_string(2 * kDepartedQuotaMax - 1)));
  EXPECT_TRUE(departed.recall(kThen, "container:/a"));
  for (std::size_t i = 0; i < 2 * kDepartedQuotaMax; ++i) leave("container:/" + std::to_string(i));
  EXPECT_EQ(departed.size(), kDepartedQuotaMax);
  // Those whose time is over make room for others.
  departed.keep(kThen + kDepartedQuotaTime, "container:/late", owing(Duration::from_s(1)));
  EXPECT_EQ(departed.size(), 1U);
}

}  // namespace
}  // namespace nvs::daemon
