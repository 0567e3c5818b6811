// SPDX-License-Identifier: Apache-2.0
// Caps of tenants that use several GPUs at once: a cap holds on each of them.
#include <gtest/gtest.h>

#include "core/two_gpus.h"

namespace nvs::core {
namespace {

class ThrottledGangs : public TwoGpus {
 protected:
  int both_open() const { return (node.is_open(9, 0) ? 1 : 0) + (node.is_open(9, 1) ? 1 : 0); }
};

TEST_F(ThrottledGangs, EndAndStartTogether) {
  node.cap(9, 30);
  node.saturate(9, 0, Duration{});
  node.saturate(9, 1, Duration{});
  node.pass_ms(1000);
  for (int ms = 0; ms < 1000; ++ms) {
    node.pass_ms(1);
    EXPECT_NE(both_open(), 1);
  }
  node.pass_ms(8000);
  EXPECT_NEAR(node.used(9, 0).seconds(), 3, 0.1);
  EXPECT_NEAR(node.used(9, 1).seconds(), 3, 0.1);
}

TEST_F(ThrottledGangs, OneGpuWhereItHasHadItsShareKeepsItOffTheOther) {
  node.cap(9, 50);
  node.want(9, 0);
  node.pass_ms(100);
  EXPECT_TRUE(node.is_closing(9, 0));
  node.want(9, 1);
  EXPECT_FALSE(node.is_open(9, 1)) << "it will want both";
  node.drained(9, 0, true);
  EXPECT_FALSE(node.is_open(9, 1));
  EXPECT_EQ(node.seat(9, 1).state, TenantState::throttled);
  node.pass_ms(100);
  EXPECT_EQ(both_open(), 2);
}

TEST_F(ThrottledGangs, TakeNothingFromOthersBeforeTheyMayStart) {
  node.want(2, 1);
  node.cap(9, 50);
  node.want(9, 0);
  node.pass_ms(100);
  EXPECT_TRUE(node.is_closing(9, 0));
  node.want(9, 1);
  EXPECT_TRUE(node.is_open(2, 1)) << "though its window is long over";
  node.drained(9, 0, true);
  EXPECT_TRUE(node.is_open(2, 1));
  node.pass_ms(100);
  EXPECT_TRUE(node.is_closing(2, 1));
}

TEST_F(ThrottledGangs, GiveUpWhatIsKeptForThemWhenTheyRunOut) {
  node.want(2, 1);
  node.cap(9, 50);
  node.want(9, 0);
  node.pass_ms(90);
  node.want(9, 1);
  EXPECT_TRUE(node.is_closing(2, 1)) << "to make room for the gang";
  node.pass_ms(10);
  EXPECT_TRUE(node.is_closing(9, 0));
  node.drained(2, 1, true);
  EXPECT_TRUE(node.is_open(2, 1)) << "nobody else can use it";
}

// It would wait for its own drain all the same, and others would make way for nobody.
TEST_F(ThrottledGangs, WhatOneHasHadIsKnownWhenItHasDrained) {
  node.cap(9, 50);
  node.want(9, 0);
  node.pass_ms(100);
  EXPECT_TRUE(node.is_closing(9, 0));
  node.want(9, 1);
  node.step(WentIdle{ClientId{9}, GpuId{0}, node.grant(9, 0), Duration::from_ms(100)});
  EXPECT_EQ(node.seat(9, 1).state, TenantState::throttled) << "though it had nothing";
  node.drained(9, 0);
  EXPECT_EQ(both_open(), 2);
}

TEST_F(ThrottledGangs, OneThatDoesNotWantMoreKeepsItOffNothing) {
  node.cap(9, 50);
  node.want(9, 0);
  node.pass_ms(100);
  node.want(9, 1);
  node.drained(9, 0);
  EXPECT_TRUE(node.is_open(9, 1));
  EXPECT_FALSE(node.is_open(9, 0)) << "and is not opened with it";
}

TEST_F(ThrottledGangs, ShareWithOthersOnBothGpus) {
  node.cap(9, 30);
  node.cap(1, 60);
  node.saturate(1, 0);
  node.saturate(2, 1);
  node.saturate(9, 0);
  node.saturate(9, 1);
  node.pass_ms(20'000);
  EXPECT_NEAR(node.used(1, 0).seconds(), 12, 0.3);
  EXPECT_NEAR(node.used(9, 0).seconds(), 6, 0.3);
  EXPECT_NEAR(node.used(9, 1).seconds(), 6, 0.3);
  EXPECT_NEAR(node.used(2, 1).seconds(), 14, 0.3);
}

}  // namespace
}  // namespace nvs::core
