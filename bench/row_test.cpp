// SPDX-License-Identifier: Apache-2.0
#include "bench/row.h"

#include <limits>

#include <gtest/gtest.h>

namespace nvs::bench {
namespace {

Row row_of(double value, std::optional<Target> target,
           std::optional<double> overrun = std::nullopt) {
  return {"section", "what", {value, value, value}, "x", std::nullopt, target, overrun};
}

TEST(Row, WithoutATargetThereIsNoVerdict) {
  EXPECT_EQ(judge(row_of(1, std::nullopt)), Verdict::kNone);
}

TEST(Row, BoundsBelongToTheTarget) {
  const Target target = within(2, 0.05);
  EXPECT_EQ(judge(row_of(1.9, target)), Verdict::kMet);
  EXPECT_EQ(judge(row_of(2.1, target)), Verdict::kMet);
  EXPECT_EQ(judge(row_of(1.89, target)), Verdict::kMissed);
  EXPECT_EQ(judge(row_of(2.11, target)), Verdict::kMissed);
}

TEST(Row, AnOpenBoundIsNotMissed) {
  EXPECT_EQ(judge(row_of(1e9, Target{1, std::nullopt})), Verdict::kMet);
  EXPECT_EQ(judge(row_of(0.5, Target{1, std::nullopt})), Verdict::kMissed);
  EXPECT_EQ(judge(row_of(-1e9, Target{std::nullopt, 1})), Verdict::kMet);
  EXPECT_EQ(judge(row_of(1.5, Target{std::nullopt, 1})), Verdict::kMissed);
}

TEST(Row, LatenessOfTheSimulatorMakesARowInvalid) {
  EXPECT_EQ(judge(row_of(2, within(2, 0.05), 0.01)), Verdict::kMet);
  EXPECT_EQ(judge(row_of(2, within(2, 0.05), 0.011)), Verdict::kInvalid);
  EXPECT_EQ(judge(row_of(2, std::nullopt, 0.5)), Verdict::kInvalid);
}

TEST(Row, WhatIsNoNumberIsInvalid) {
  EXPECT_EQ(judge(row_of(std::numeric_limits<double>::infinity(), std::nullopt)),
            Verdict::kInvalid);
  EXPECT_EQ(judge(row_of(kNothingSeen, std::nullopt)), Verdict::kInvalid);
}

TEST(Row, WhatWasNotSeenMissesItsTarget) {
  EXPECT_EQ(judge(row_of(kNothingSeen, Target{std::nullopt, 2})), Verdict::kMissed);
  EXPECT_EQ(judge(row_of(kNothingSeen, Target{2, std::nullopt}, 0.01)), Verdict::kMissed);
  EXPECT_EQ(judge(row_of(kNothingSeen, within(2, 1), 0.02)), Verdict::kInvalid)
      << "for want of time";
}

TEST(Row, OnlyMissedAndInvalidRowsFailACheck) {
  EXPECT_TRUE(acceptable(Verdict::kNone));
  EXPECT_TRUE(acceptable(Verdict::kMet));
  EXPECT_FALSE(acceptable(Verdict::kMissed));
  EXPECT_FALSE(acceptable(Verdict::kInvalid));
}

}  // namespace
}  // namespace nvs::bench
