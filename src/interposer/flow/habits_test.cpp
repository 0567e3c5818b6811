// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/habits.h"

#include <gtest/gtest.h>

namespace nvs::interposer::flow {
namespace {

constexpr std::int64_t kLong_ns = Habits::kLongPause_ns + 1;
constexpr std::int64_t kShort_ns = Habits::kLongPause_ns;

TEST(Habits, OneLongPauseIsLongAndHalfADozenAreAHabit) {
  Habits habits;
  EXPECT_FALSE(habits.sleeps_long());
  habits.paused(kLong_ns);
  EXPECT_TRUE(habits.sleeps_long());
  EXPECT_FALSE(habits.mostly_sleeps());
  for (int i = 0; i < 5; ++i) habits.paused(kLong_ns);
  EXPECT_TRUE(habits.mostly_sleeps());
}

TEST(Habits, WhatWasLongAgoDoesNotCount) {
  Habits habits;
  for (int i = 0; i < 1000; ++i) habits.paused(kLong_ns);
  for (int i = 0; i < Habits::kPausesMax; ++i) habits.paused(kShort_ns);
  EXPECT_FALSE(habits.sleeps_long());
  for (int i = 0; i < 1000; ++i) habits.paused(kShort_ns);
  for (int i = 0; i <= Habits::kPausesMax; ++i) habits.paused(kLong_ns);
  EXPECT_TRUE(habits.sleeps_long());
}

TEST(Habits, WaitsAreAnAverageOfTheLatest) {
  Habits habits;
  EXPECT_EQ(habits.waits_ns(), 0);
  habits.waited(8'000'000);
  EXPECT_EQ(habits.waits_ns(), 1'000'000) << "one is no habit";
  for (int i = 0; i < 100; ++i) habits.waited(i % 2 == 0 ? 1'000'000 : 3'000'000);
  EXPECT_NEAR(static_cast<double>(habits.waits_ns()), 2e6, 2e5);
  for (int i = 0; i < 100; ++i) habits.waited(0);
  EXPECT_LT(habits.waits_ns(), 10);
}

TEST(Habits, AWaitForMemoryCountsAsAnyLongOne) {
  Habits habits;
  habits.waited(3'600'000'000'000);
  EXPECT_EQ(habits.waits_ns(), Habits::kWaitMax_ns / 8);
  habits.waited(-1);  // it was open before it was wanted
  EXPECT_LT(habits.waits_ns(), Habits::kWaitMax_ns / 8);
  EXPECT_GE(habits.waits_ns(), 0);
}

}  // namespace
}  // namespace nvs::interposer::flow
