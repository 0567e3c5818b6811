// SPDX-License-Identifier: Apache-2.0
#include "daemon/capacity.h"

#include <gtest/gtest.h>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
constexpr std::uint64_t kSize = 16 * kGiB;

// Until it is believed.
bool settle(Capacity& capacity, const Capacity::Poll& poll) {
  bool has_changed = false;
  for (int i = 0; i <= kStillPollsForMore; ++i) has_changed = capacity.poll(poll) || has_changed;
  return has_changed;
}

TEST(Capacity, IsAllThatNobodyElseHas) {
  Capacity capacity(kSize);
  EXPECT_EQ(capacity.bytes(), kSize);
  EXPECT_TRUE(settle(capacity, {.used = 5 * kGiB, .claimed = 3 * kGiB}));
  EXPECT_EQ(capacity.other(), 2 * kGiB);
  EXPECT_EQ(capacity.bytes(), 14 * kGiB);
  EXPECT_TRUE(settle(capacity, {.used = 3 * kGiB, .claimed = 3 * kGiB}));
  EXPECT_EQ(capacity.bytes(), kSize) << "it comes back";
}

TEST(Capacity, OnePollIsNotBelieved) {
  Capacity capacity(kSize);
  EXPECT_FALSE(capacity.poll({.used = kGiB}));
  for (int i = 0; i < kStillPollsForMore; ++i) {
    EXPECT_FALSE(capacity.poll({.used = 2 * kGiB})) << "it changes, or has just changed";
  }
  EXPECT_EQ(capacity.bytes(), kSize);
  EXPECT_TRUE(capacity.poll({.used = 2 * kGiB}));
  EXPECT_EQ(capacity.other(), 2 * kGiB);
  EXPECT_FALSE(capacity.poll({.used = kGiB}));
  EXPECT_TRUE(capacity.poll({.used = kGiB})) << "good news sooner";
}

TEST(Capacity, WhatAClientTellsLateIsNotTakenForOthers) {
  Capacity capacity(kSize);
  EXPECT_FALSE(capacity.poll({.used = 12 * kGiB}));
  EXPECT_FALSE(capacity.poll({.used = 12 * kGiB})) << "it told nothing for a second";
  EXPECT_FALSE(capacity.poll({.used = 12 * kGiB, .claimed = 12 * kGiB, .moves = 1}));
  EXPECT_EQ(capacity.other(), 0U);
}

TEST(Capacity, NothingIsMeasuredWhileMemoryMoves) {
  Capacity capacity(kSize);
  // A client has given 2 GiB back, and the driver has not yet.
  EXPECT_FALSE(capacity.poll({.used = 4 * kGiB, .claimed = 4 * kGiB, .moves = 1}));
  EXPECT_FALSE(capacity.poll({.used = 4 * kGiB, .claimed = 2 * kGiB, .moves = 2}));
  EXPECT_FALSE(capacity.poll({.used = 2 * kGiB, .claimed = 2 * kGiB, .moves = 2}));
  EXPECT_FALSE(capacity.poll({.used = 2 * kGiB, .claimed = 2 * kGiB, .moves = 2}));
  EXPECT_EQ(capacity.bytes(), kSize);
}

TEST(Capacity, WhatMayNotBeThereYetIsNotTakenFromOthers) {
  Capacity capacity(kSize);
  settle(capacity, {.used = 2 * kGiB});
  EXPECT_FALSE(settle(capacity, {.used = 2 * kGiB, .claimed = 5 * kGiB, .early = 5 * kGiB}));
  EXPECT_FALSE(settle(capacity, {.used = 7 * kGiB, .claimed = 5 * kGiB, .early = 5 * kGiB}))
      << "it has come";
  EXPECT_EQ(capacity.other(), 2 * kGiB);
  EXPECT_TRUE(settle(capacity, {.used = 8 * kGiB, .claimed = 5 * kGiB, .early = 5 * kGiB}));
  EXPECT_EQ(capacity.other(), 3 * kGiB) << "more than it can be";
  EXPECT_TRUE(settle(capacity, {.used = kGiB, .claimed = 5 * kGiB, .early = 5 * kGiB}));
  EXPECT_EQ(capacity.other(), kGiB);
}

TEST(Capacity, SmallChangesAreIgnored) {
  Capacity capacity(kSize);
  EXPECT_FALSE(settle(capacity, {.used = 16 * kMiB - 1}));
  EXPECT_TRUE(settle(capacity, {.used = 16 * kMiB}));
  EXPECT_FALSE(settle(capacity, {.used = kMiB}));
  EXPECT_EQ(capacity.other(), 16 * kMiB);
}

TEST(Capacity, NeverGoesBelowNothing) {
  Capacity capacity(kGiB);
  EXPECT_TRUE(settle(capacity, {.used = 3 * kGiB}));  // as where a GPU is treated as smaller
  EXPECT_EQ(capacity.bytes(), 1U) << "and never becomes the 0 that means no limit";
  EXPECT_FALSE(settle(capacity, {.used = 2 * kGiB})) << "that is the same";
  EXPECT_TRUE(settle(capacity, {.used = kGiB, .claimed = 2 * kGiB})) << "they claim too much";
  EXPECT_EQ(capacity.bytes(), kGiB);
}

TEST(Capacity, AnUnknownSizeStaysUnknown) {
  Capacity capacity(0);
  EXPECT_FALSE(settle(capacity, {.used = kGiB, .processes = 1}));
  EXPECT_EQ(capacity.bytes(), 0U);
  EXPECT_EQ(capacity.other(), 0U);
  EXPECT_EQ(capacity.visible(), 0U);
}

TEST(Visible, KeepsRoomForContextsToCome) {
  Capacity capacity(64 * kGiB);
  EXPECT_EQ(capacity.visible(), 61 * kGiB) << "six of 512 MiB";
  settle(capacity, {.used = 700 * kMiB, .processes = 2});
  EXPECT_EQ(capacity.visible(), 64 * kGiB - 6 * 350 * kMiB);
  settle(capacity, {.used = 1300 * kMiB, .processes = 2});
  EXPECT_EQ(capacity.visible(), 64 * kGiB - 6 * 650 * kMiB);
  settle(capacity, {.used = 700 * kMiB, .processes = 2});
  EXPECT_EQ(capacity.visible(), 64 * kGiB - 6 * 650 * kMiB) << "the largest counts";
  settle(capacity, {.used = 9 * kGiB, .processes = 2});
  EXPECT_EQ(capacity.visible(), 58 * kGiB) << "at most 1 GiB each";
}

TEST(Visible, WithoutProcessesNoContextIsMeasured) {
  Capacity capacity(64 * kGiB);
  settle(capacity, {.used = 8 * kGiB});
  EXPECT_EQ(capacity.visible(), 61 * kGiB);
}

TEST(Visible, OfASmallGpuASixthIsKept) {
  EXPECT_EQ(Capacity(6 * kGiB).visible(), 5 * kGiB);
  EXPECT_EQ(Capacity(18 * kGiB).visible(), 15 * kGiB);
}

TEST(Limit, IsLoweredOnlyForWhatCouldNeverBeServed) {
  const Demand fits{.allocated = 20 * kGiB, .asked = 4 * kGiB, .places = 24 * kGiB};
  EXPECT_EQ(limit_of(fits, 15 * kGiB, 10 * kGiB), 15 * kGiB);
  const Demand shrunk{.on_gpu = 12 * kGiB};
  EXPECT_EQ(limit_of(shrunk, 15 * kGiB, 10 * kGiB), 12 * kGiB) << "the rest would be waited for";
  const Demand crowded{.allocated = 20 * kGiB, .asked = 5 * kGiB, .places = 24 * kGiB};
  EXPECT_EQ(limit_of(crowded, 15 * kGiB, 10 * kGiB), 14 * kGiB) << "4 GiB more could be served";
  EXPECT_EQ(limit_of(crowded, 15 * kGiB, 13 * kGiB), 15 * kGiB);
  const Demand full{.allocated = 30 * kGiB, .asked = 1, .places = 24 * kGiB};
  EXPECT_EQ(limit_of(full, 15 * kGiB, 10 * kGiB), 10 * kGiB);
}

TEST(Limit, SmallChangesAreNotTold) {
  constexpr std::uint64_t kTotal = kGiB;
  EXPECT_FALSE(is_news(kTotal, kTotal - 64 * kMiB, kTotal));
  EXPECT_TRUE(is_news(kTotal, kTotal - 64 * kMiB - 1, kTotal));
  EXPECT_TRUE(is_news(kTotal - kMiB, kTotal, kTotal)) << "it comes back";
  EXPECT_FALSE(is_news(kTotal, kTotal, kTotal));
}

}  // namespace
}  // namespace nvs::daemon
