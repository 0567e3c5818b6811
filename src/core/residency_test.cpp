// SPDX-License-Identifier: Apache-2.0
// Who is in memory, who waits for it, and what clients are told about it.
#include <utility>

#include <gtest/gtest.h>

#include "core/sim_memory.h"

namespace nvs::core {
namespace {

using Residents = MemoryTest;

TEST_F(Residents, WhoNeverToldAnythingIsToldNothing) {
  node.join(1, 1);
  node.want(1);
  EXPECT_TRUE(node.is_open(1));
  EXPECT_EQ(node.allowed(1).number, 0U);
}

TEST_F(Residents, WhoIsAloneMayHaveAllAndIsToldOnce) {
  node.join(1, 1);
  has(1, 2, 0, 1);
  EXPECT_EQ(allowed(1), 15U);
  EXPECT_FALSE(node.allowed(1).shared);
  has(1, 9, 0, 1);
  EXPECT_EQ(node.allowed(1).number, 1U);
}

TEST_F(Residents, WhenASecondComesItIsSharedAndSlackIsTakenBack) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 2);
  EXPECT_EQ(allowed(1), 16U);
  has(2, 0);
  EXPECT_TRUE(node.allowed(1).shared);
  asks(2, 6);
  EXPECT_EQ(allowed(2), 0U) << "until the first one says that it goes by less";
  EXPECT_EQ(allowed(1), 4U) << "what it has, and a quarter of the 8 that are free";
  obey(1);
  EXPECT_EQ(allowed(2), 8U);
  obey(2);
  EXPECT_EQ(resident(2), 6U);
  EXPECT_EQ(node.view().gpus[0].turn, Duration{}) << "all fit: no turns";
}

TEST_F(Residents, WhatIsPromisedCountsUntilTheClientGoesByLess) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 2);
  has(2, 1);
  const std::uint64_t first = node.allowed(1).number;
  asks(2, 11);
  EXPECT_GT(node.allowed(1).number, first);
  held[{1, 0}].number = first;
  tell({1, 0});  // it says something, but goes by the old one
  EXPECT_LT(allowed(2), 12U);
  obey(1);
  EXPECT_GE(allowed(2), 12U);
}

TEST_F(Residents, NoWindowForWhoLacksSomething) {
  node.join(1, 1);
  has(1, 3, 1);
  node.want(1);
  EXPECT_FALSE(node.is_open(1));
  EXPECT_EQ(node.seat(1).state, TenantState::swapped);
  obey(1);
  EXPECT_TRUE(node.is_open(1));
}

// It may have begun to move when it hears that it need not.
TEST_F(Residents, WhoWasToldToGoIsCompleteWhenItSaysSo) {
  for (const int client : {1, 2}) node.join(client, client);
  has(1, 10);
  has(2, 0, 10);
  pass_ms(2000);
  node.want(2);
  EXPECT_EQ(allowed(1), 6U);
  leave(2);
  EXPECT_GE(allowed(1), 10U);
  node.want(1);
  EXPECT_FALSE(node.is_open(1));
  obey(1);
  EXPECT_TRUE(node.is_open(1));
}

// That one is told to go by less takes nothing away that it has.
TEST_F(Residents, WhoIsCompleteKeepsItsWindowsWhileAnotherGrows) {
  for (const int client : {1, 2, 3}) node.join(client, client);
  for (const int client : {1, 2, 3}) has(client, 2);
  obey_all();
  for (const int client : {1, 2}) node.saturate(client);
  const std::uint64_t number = node.allowed(1).number;
  asks(3, 9);
  ASSERT_GT(node.allowed(1).number, number) << "what it may take without asking is less now";
  const int opened = node.opened(1);
  node.pass_ms(200);  // its answer is late
  EXPECT_GE(node.opened(1), opened + 4);
  EXPECT_LT(allowed(3), 11U) << "but until then it may have taken more";
}

TEST_F(Residents, WhatSomebodyNeedsIsNotGivenAwayAsSlack) {
  for (const int client : {1, 2, 3}) node.join(client, client);
  has(1, 6);
  has(2, 5);
  obey_all();
  asks(3, 5);
  held[{1, 0}].number = node.allowed(1).number;
  has(1, 4);  // it goes by less, and has freed some: all could have slack
  EXPECT_EQ(allowed(3), 5U) << "in the same step";
}

TEST_F(Residents, WhoRunsIsTheLastToGo) {
  for (const int client : {1, 2, 3}) node.join(client, client);
  has(1, 8);
  has(2, 8);
  obey_all();
  node.saturate(1);
  node.saturate(2);
  pass_ms(21);
  ASSERT_TRUE(node.is_open(2));
  has(3, 0, 0, 1);  // of what cannot be moved: two of eight do not fit any more
  EXPECT_TRUE(node.is_open(2));
  EXPECT_EQ(allowed(1), 7U);
}

// A new daemon hears of its memory while another client of it runs.
TEST_F(Residents, WhoRunsKeepsItsWindowWhenItFirstTellsOfMemory) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 10);
  obey(1);
  node.want(2);
  ASSERT_TRUE(node.is_open(2));
  node.join(3, 2);
  has(3, 0, 8);
  EXPECT_TRUE(node.is_open(2));
  obey_all();
  EXPECT_TRUE(is_complete(3));
}

// Its other client works beside everybody, so it has had work all the time.
TEST_F(Residents, WhoWantsBesideOneThatDidNotDrainIsNoticedAtOnce) {
  for (const int client : {8, 9}) node.join(client, 9);
  node.join(2, 2);
  node.want(8);
  node.pass_ms(30);
  node.want(2);
  node.refused(8);
  has(2, 14);
  has(9, 1, 4);
  obey_all();
  node.drained(2);
  node.pass_ms(5000);
  ASSERT_EQ(allowed(2), 14U);
  node.want(9);
  EXPECT_EQ(allowed(2), 11U);
}

TEST_F(Residents, WhoIsFoundOpenRunsOn) {
  node.join(1, 1);
  node.join(2, 1);
  has(2, 1, 1);
  node.found_open(1);
  has(1, 2);
  EXPECT_TRUE(node.is_open(1));
  EXPECT_FALSE(node.is_open(2)) << "of the same tenant, but something of it is away";
  node.want(2);
  EXPECT_FALSE(node.is_open(2));
  obey(2);
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Residents, WhoeverLeavesMakesRoomAtOnce) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 10);
  has(2, 6, 4);
  obey_all();
  node.saturate(1);
  EXPECT_FALSE(is_complete(2));
  leave(1);
  EXPECT_GE(allowed(2), 10U) << "in the same step";
}

TEST_F(Residents, AnAskIsServedFromAnIdleOnesMemory) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 10);
  has(2, 4);
  obey_all();
  pass_ms(2000);
  node.saturate(2);
  asks(2, 4);
  EXPECT_EQ(allowed(1), 8U) << "only what is needed";
  obey_all();
  EXPECT_EQ(resident(2), 8U);
  EXPECT_EQ(resident(1), 8U);
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Residents, WhatMovesIsCountedAndWhatIsAllocatedOrFreedIsNot) {
  using OutAndIn = std::pair<std::uint64_t, std::uint64_t>;
  const auto moved = [this] {
    const GpuView gpu = node.view().gpus[0];
    return OutAndIn(gpu.moved_out_bytes / kGiB, gpu.moved_in_bytes / kGiB);
  };
  node.join(1, 1);
  has(1, 10, 2);
  EXPECT_EQ(moved(), OutAndIn(0, 0)) << "before it told anything";
  has(1, 6, 6);
  EXPECT_EQ(moved(), OutAndIn(4, 0));
  has(1, 8, 4);
  EXPECT_EQ(moved(), OutAndIn(4, 2));
  has(1, 5, 4);
  has(1, 5, 1);
  has(1, 7, 1);
  EXPECT_EQ(moved(), OutAndIn(4, 2));
  has(1, 4, 3);
  EXPECT_EQ(moved(), OutAndIn(6, 2)) << "and one was freed";
  has(1, 8, 1);
  EXPECT_EQ(moved(), OutAndIn(6, 4)) << "and two were allocated";
}

TEST_F(Residents, WhereNobodyKnowsTheSizeThereIsNoLimit) {
  set_capacity(0);
  node.join(1, 1);
  node.join(2, 2);
  has(1, 100);
  has(2, 50, 50);
  obey_all();
  EXPECT_TRUE(is_complete(1) && is_complete(2));
  EXPECT_EQ(node.view().gpus[0].turn, Duration{});
}

TEST_F(Residents, WhatNeverFitsBlocksNobody) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 2, 16);
  has(2, 4);
  node.want(1);
  node.saturate(2);
  pass_ms(3000);
  EXPECT_TRUE(node.is_open(2));
  EXPECT_EQ(turns(), 0U);
  EXPECT_TRUE(node.seat(1).too_large);
  EXPECT_FALSE(node.is_open(1));
}

TEST_F(Residents, ConcurrentModeTakesTurnsInMemory) {
  node.step(PolicySet{GpuId{0}, {Mode::concurrent, Duration::from_ms(20), Duration::from_s(1)}});
  for (const int client : {1, 2, 3}) node.join(client, client);
  has(1, 8);
  has(2, 8);
  has(3, 0, 8);
  for (const int client : {1, 2, 3}) node.saturate(client);
  pass_ms(900);
  EXPECT_TRUE(node.is_open(1) && node.is_open(2));
  EXPECT_FALSE(node.is_open(3));
  pass_ms(300);
  EXPECT_TRUE(node.is_open(3));
  EXPECT_NE(node.is_open(1), node.is_open(2));
}

// Its first window had no end, so there was more queued than anybody waits for.
class WhoDidNotDrain : public MemoryTest {
 protected:
  void SetUp() override {
    node.join(1, 1);
    node.join(2, 2);
    node.want(1);
    has(1, 12);
    node.want(2);
    has(2, 0);
    asks(2, 12);
    pass_ms(40);
    ASSERT_TRUE(node.is_closing(1));
    node.refused(1);
    ASSERT_TRUE(node.is_open(2)) << "to ask takes no memory";
    node.idle(2);
    node.drained(2);
    obey_all();
    ASSERT_LT(allowed(2), 12U) << "what does not drain does not move";
  }
};

TEST_F(WhoDidNotDrain, MakesWayOnceItHas) {
  node.drained(1);
  obey_all();
  EXPECT_EQ(resident(2), 12U);
}

TEST_F(WhoDidNotDrain, IsAskedAgainForItsMemoryAlone) {
  pass_ms(1000);
  EXPECT_TRUE(node.is_closing(1)) << "nobody wants a window, but somebody memory";
  node.drained(1);
  obey_all();
  EXPECT_EQ(resident(2), 12U);
}

TEST_F(WhoDidNotDrain, IsLeftAloneOnceNobodyWaits) {
  asks(2, 0);
  pass_ms(60'000);
  EXPECT_FALSE(node.is_closing(1));
}

class GangMemory : public MemoryTest {
 protected:
  GangMemory() : MemoryTest(2) {}
};

TEST_F(GangMemory, NeedsItsMemoryOnAllItsGpus) {
  node.join(9, 9);
  has(9, 4, 0, 0, 0);
  has(9, 2, 2, 0, 1);
  node.want(9, 0);
  EXPECT_TRUE(node.is_open(9, 0)) << "it does not want the other one";
  node.drained(9, 0);
  node.want(9, 1);
  node.want(9, 0);
  EXPECT_FALSE(node.is_open(9, 0));
  EXPECT_FALSE(node.is_open(9, 1));
  obey({9, 1});
  EXPECT_TRUE(node.is_open(9, 0));
  EXPECT_TRUE(node.is_open(9, 1));
}

// Its work there uses memory of the other GPU, which is on its way out.
TEST_F(GangMemory, AWindowThatWasGivenUpForMemoryElsewhereWaitsForThat) {
  node.join(9, 9);
  node.join(8, 9);  // of the same tenant: it keeps the window open
  has(9, 2, 2, 0, 0);
  has(9, 4, 0, 0, 1);
  node.want(8, 1);
  node.want(9, 1);
  ASSERT_TRUE(node.is_open(9, 1));
  node.want(9, 0);
  node.drained(9, 1, true);
  EXPECT_FALSE(node.is_open(9, 1));
  node.want(9, 1);
  EXPECT_FALSE(node.is_open(9, 1));
  obey({9, 0});
  EXPECT_TRUE(node.is_open(9, 0));
  EXPECT_TRUE(node.is_open(9, 1));
}

// Its drain on one GPU waits for work on the other, where it has drained and has to go.
TEST_F(GangMemory, MakesWayWhenWhatWasLetInIsDone) {
  node.join(9, 9);
  node.join(2, 2);
  has(9, 12, 0, 0, 0);
  has(9, 4, 0, 0, 1);
  node.want(9, 0);
  node.want(9, 1);
  has(2, 0);
  asks(2, 12);
  for (int ms = 0; ms < 30'000 && !node.is_closing(9, 0); ++ms) pass_ms(1);
  node.drained(9, 0, true);
  node.stalled(9, 1);
  ASSERT_EQ(node.effects_text(), "let_one_in client=9 gpu=0 grant=3\n");
  node.drained(9, 1, true);
  ASSERT_EQ(allowed(9), 12U) << "what was let in may need all of it";
  node.drained(9, 0, true);
  obey_all();
  EXPECT_EQ(resident(2), 12U);
}

TEST_F(GangMemory, TakesItsTurnOnBothWhereSinglesTakeTurns) {
  for (const int client : {1, 2, 9}) node.join(client, client);
  has(1, 12, 0, 0, 0);
  has(2, 12, 0, 0, 1);
  has(9, 4, 8, 0, 0);
  has(9, 4, 8, 0, 1);
  node.saturate(1, 0);
  node.saturate(2, 1);
  node.saturate(9, 0);
  node.saturate(9, 1);
  pass_ms(60'000);
  EXPECT_GE(node.opened(9, 0), 3);
  EXPECT_GE(node.opened(9, 1), 3);
  EXPECT_GE(node.opened(1, 0), 3);
}

}  // namespace
}  // namespace nvs::core
