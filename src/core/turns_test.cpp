// SPDX-License-Identifier: Apache-2.0
// Turns in memory: how long they are, and who is next.
#include <gtest/gtest.h>

#include "core/allowances.h"
#include "core/sim_memory.h"

namespace nvs::core {
namespace {

TEST(Allowances, TheMostSinceTheAcknowledgedOneCounts) {
  Allowances allowances;
  for (const std::uint64_t bytes : {8U, 3U, 5U, 2U}) allowances.send(bytes);
  EXPECT_EQ(allowances.most(), 8U);
  allowances.acknowledge(1);
  EXPECT_EQ(allowances.most(), 8U) << "that one included";
  allowances.acknowledge(2);
  EXPECT_EQ(allowances.most(), 5U) << "it may have read the third";
  allowances.acknowledge(1);
  EXPECT_EQ(allowances.most(), 5U) << "said before";
  allowances.acknowledge(99);
  EXPECT_EQ(allowances.most(), 5U) << "never sent";
  allowances.acknowledge(4);
  EXPECT_EQ(allowances.most(), 2U);
  EXPECT_EQ(allowances.least(), 2U);
}

TEST(Allowances, TheLeastCountsTooAndOneThatNeverAnswersCostsNoMore) {
  Allowances allowances;
  EXPECT_GT(allowances.least(), 100U) << "nobody told it to move anything";
  allowances.send(7);
  allowances.send(1);
  for (std::uint64_t bytes = 0; bytes < 100; ++bytes) allowances.send(5);
  EXPECT_EQ(allowances.most(), 7U);
  EXPECT_EQ(allowances.least(), 1U);
  EXPECT_EQ(allowances.most_for_certain(), 5U) << "it may have answered the first";
  allowances.acknowledge(3);
  EXPECT_EQ(allowances.most(), 7U) << "which was merged with others";
  allowances.acknowledge(102);
  EXPECT_EQ(allowances.most(), 5U);
  EXPECT_EQ(allowances.least(), 5U);
}

class Turns : public MemoryTest {
 protected:
  void set_turn(std::optional<Duration> turn, Mode mode = Mode::automatic) {
    node.step(PolicySet{GpuId{0}, {mode, Duration::from_ms(20), turn}});
  }
  // Each with so many GiB; the first is in.
  void crowd(const std::vector<std::pair<int, std::uint64_t>>& clients) {
    bool first = true;
    for (const auto& [client, gib] : clients) {
      node.join(client, client);
      first ? has(client, gib) : has(client, 0, gib);
      first = false;
    }
    for (const auto& [client, gib] : clients) node.saturate(client);
    obey_all();
  }
};

TEST_F(Turns, AFixedTurnIsExactlyThatLong) {
  set_turn(Duration::from_s(1));
  crowd({{1, 12}, {2, 12}});
  const Instant begin = node.now();
  EXPECT_TRUE(node.is_open(1));
  while (!node.is_closing(1) && node.is_open(1)) node.pass(Duration::from_us(100));
  EXPECT_EQ(node.now() - begin, Duration::from_s(1));
  EXPECT_EQ(turns(), 1U);
  node.pass_ms(1);
  obey(1);
  EXPECT_EQ(resident(1), 4U) << "only the deficit goes";
  pass_ms(10);
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Turns, WhatIsLeftOverIsBroughtInMeanwhile) {
  crowd({{1, 12}, {2, 12}, {3, 12}});
  obey_all();
  EXPECT_EQ(resident(2), 4U);
  EXPECT_EQ(resident(3), 0U);
}

// They have to go one after the other, and the second one's turn has come.
class NextTurn : public Turns {
 protected:
  void SetUp() override {
    set_turn(Duration::from_s(5));
    crowd({{1, 12}, {2, 12}, {3, 6}});
    while (!node.is_closing(1) && node.is_open(1)) node.pass_ms(1);
    node.pass_ms(1);
    obey(1);
    ASSERT_EQ(resident(1), 0U);
    ASSERT_EQ(resident(2), 4U);
    ASSERT_EQ(allowed(2), 12U);
  }
};

// Both would come in over the same bus, and only one of them is waited for.
TEST_F(NextTurn, WhoComesAfterTheNextDoesNotComeBesideIt) {
  EXPECT_EQ(allowed(3), 0U);
  has(2, 11, 1);
  EXPECT_EQ(allowed(3), 0U);
  has(2, 12);
  EXPECT_EQ(allowed(3), 4U);
}

TEST_F(NextTurn, NobodyWaitsForWhoDoesNotComeIn) {
  node.pass_ms(2010);
  EXPECT_EQ(allowed(3), 6U) << "beside the 4 of the one that is stopped";
  obey(3);
  EXPECT_EQ(allowed(1), 6U) << "for its next turn";
}

TEST_F(NextTurn, NobodyWaitsForWhoGetsNothingFromTheDriver) {
  for (int i = 0; i < 405; ++i) {
    lacks(2);
    node.pass_ms(5);
  }
  EXPECT_GE(allowed(3), 4U);
}

TEST_F(Turns, AnAutomaticTurnIsFiveTimesAsLongAsTheSwap) {
  crowd({{1, 12}, {2, 12}});
  // 8 GiB are to come, at 8 GB/s until it is known better.
  EXPECT_GE(node.view().gpus[0].turn, Duration::from_ms(5 * 1073));
  EXPECT_LE(node.view().gpus[0].turn, Duration::from_ms(5 * 1700));
}

TEST_F(Turns, AChangeThatIsFastOnceDoesNotMakeTurnsShort) {
  crowd({{1, 12}, {2, 12}});
  const auto until_open = [this](int client) {
    for (; !node.is_open(client); obey_all()) node.pass_ms(7);  // it takes no longer than that
    tell({client, 0});                                          // turns are reckoned anew
  };
  until_open(2);
  EXPECT_EQ(turns(), 1U);
  EXPECT_GE(node.view().gpus[0].turn, Duration::from_ms(5 * 1073));
  until_open(1);
  EXPECT_LT(node.view().gpus[0].turn, Duration::from_ms(5 * 1073)) << "twice is a rule";
}

// Changes stall for 300 ms each: 39 times that is 11.7 s, and 19 times 5.7 s.
TEST_F(Turns, EverybodyHasOneWithinARoundOf28Seconds) {
  const auto length_for = [this](int clients, std::uint64_t gib) {
    for (int client = 1; client <= clients; ++client) {
      node.join(client, client);
      client == 1 ? has(client, gib) : has(client, 0, gib);
    }
    for (int client = 1; client <= clients; ++client) node.saturate(client);
    obey_all();
    for (const std::uint64_t until = turns() + 10; turns() < until; obey_all()) {
      for (const std::uint64_t now = turns(); turns() == now;) node.pass_ms(1);
      node.pass_ms(300);
    }
    tell({1, 0});  // it is reckoned anew
    const Duration length = node.view().gpus[0].turn;
    for (int client = 1; client <= clients; ++client) leave(client);
    return length;
  };
  EXPECT_EQ(length_for(4, 12), Duration::from_s(7)) << "one after the other";
  EXPECT_EQ(length_for(5, 8), Duration::from_s(28) / 3) << "two at a time";
}

TEST_F(Turns, EveryoneComesInTurn) {
  set_turn(Duration::from_ms(500));
  crowd({{1, 12}, {2, 12}, {3, 10}, {4, 9}});
  std::map<int, int> before;
  for (int turn = 0; turn < 12; ++turn) {
    pass_ms(2100);
    for (const int client : {1, 2, 3, 4}) {
      EXPECT_GT(node.opened(client), before[client]) << client << " in turn " << turn;
      before[client] = node.opened(client);
    }
  }
}

TEST_F(Turns, AHigherClassComesFirstAndTheFloorsAreKept) {
  set_turn(Duration::from_ms(100));
  node.join(1, 1, Priority::high);
  node.join(2, 2, Priority::normal);
  node.join(3, 3, Priority::low);
  has(1, 12);
  has(2, 0, 12);
  has(3, 0, 12);
  for (const int client : {1, 2, 3}) node.saturate(client);
  pass_ms(20'000);
  const Duration high = node.used(1);
  EXPECT_GT(high, Duration::from_ms(12'000));
  EXPECT_GT(node.used(2), Duration::from_ms(2'000));
  EXPECT_GT(node.used(3), Duration::from_ms(500));
}

TEST_F(Turns, AnIdleTurnEndsEarly) {
  set_turn(Duration::from_s(60));
  crowd({{2, 12}});
  node.join(1, 1);
  has(1, 0, 12);
  node.want(1);
  obey_all();
  EXPECT_FALSE(node.is_open(1));
  node.idle(2);
  pass_ms(1000);
  EXPECT_FALSE(is_complete(1)) << "it may come back: moving its memory takes 1.6 s";
  pass_ms(800);
  EXPECT_TRUE(node.is_open(1));
}

// Nobody waited for a long time, but the turn is over and not forgotten.
TEST_F(Turns, WhoHasToGoDoesNotComeBackAtOnce) {
  set_turn(Duration::from_s(1));
  for (const int client : {1, 2, 3, 4}) node.join(client, client);
  has(1, 5);
  has(2, 5);
  has(3, 5);
  has(4, 0, 10);  // has no work
  for (const int client : {1, 2, 3}) node.saturate(client);
  pass_ms(3000);
  has(1, 7);
  int gone = 0;
  for (const int client : {1, 2, 3}) gone = allowed(client) < resident(client) ? client : gone;
  ASSERT_NE(gone, 0);
  pass_ms(900);
  EXPECT_FALSE(is_complete(gone));
  pass_ms(200);
  EXPECT_TRUE(is_complete(gone));
}

TEST_F(Turns, SerialModeDoesNotCutItsTurnsShort) {
  set_turn(Duration::from_s(1), Mode::serial);
  crowd({{1, 12}, {2, 12}});
  node.pass_ms(990);
  EXPECT_TRUE(node.is_open(1));
  pass_ms(30);
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Turns, WhoAsksWaitsForItsTurnAndRunsMeanwhile) {
  set_turn(Duration::from_s(1));
  for (const int client : {1, 2}) node.join(client, client);
  has(1, 8);
  has(2, 8);
  for (const int client : {1, 2}) node.saturate(client);
  obey_all();
  const int opened = node.opened(2);
  asks(2, 4);
  pass_ms(900);
  EXPECT_GT(node.opened(2), opened + 5);
  EXPECT_EQ(resident(2), 8U);
  pass_ms(200);
  EXPECT_EQ(resident(2), 12U);
  EXPECT_EQ(resident(1), 4U);
}

// The tenant works on GPU 1 alone, on memory of GPU 0, which another one waits for.
class TurnsAcross : public MemoryTest {
 protected:
  TurnsAcross() : MemoryTest(2) {
    node.step(PolicySet{GpuId{0}, {Mode::automatic, Duration::from_ms(20), Duration::from_s(5)}});
    node.join(1, 1);
    node.join(9, 9);
    held[{9, 0}].reached = true;
    has(9, 12);
    obey_all();
    node.saturate(9, 1);
    pass_ms(3000);
    has(1, 0, 12);
    node.saturate(1);
  }
};

TEST_F(TurnsAcross, WorkOnAnotherGpuKeepsATurn) {
  pass_ms(4900);
  EXPECT_EQ(resident(9), 12U);
  EXPECT_EQ(node.opened(9, 0), 0) << "it has no use for the GPU itself";
  pass_ms(200);
  EXPECT_TRUE(node.is_open(1));
  EXPECT_LT(resident(9), 12U) << "and not longer than others";
}

TEST_F(TurnsAcross, ItEndsEarlyWhenThatWorkIsDone) {
  pass_ms(100);
  node.idle(9, 1);
  pass_ms(1500);
  EXPECT_EQ(resident(9), 12U) << "moving it would take 1.6 s";
  pass_ms(200);
  EXPECT_TRUE(node.is_open(1));
}

TEST_F(TurnsAcross, NobodyIsAtAStandstillWhoseWorkUsesTheMemory) {
  node.join(2, 2);
  has(2, 2);
  asks(2, 4);
  pass_ms(4000);
  EXPECT_EQ(resident(9), 12U);
  EXPECT_EQ(resident(2), 2U);
}

TEST_F(TurnsAcross, WhatIsNotReachedIsIdle) {
  held[{9, 0}].reached = false;
  tell({9, 0});
  pass_ms(1700);
  EXPECT_TRUE(node.is_open(1));
}

// Of those that work for less than a turn and rest, each makes way for the next in the middle of
// one.
TEST_F(Turns, ThatOthersGiveUpCountForWhoeverIsPassedOver) {
  set_turn(Duration::from_s(2));
  node.join(1, 1);
  has(1, 0, 12);
  for (int client : {2, 3, 4}) {
    node.join(client, client, Priority::high);
    has(client, 0, 12);
    node.burst(client, 0, Duration::from_ms(1500), Duration::from_ms(3500));
    pass_ms(1000);
  }
  node.saturate(1);
  pass_ms(60'000);
  EXPECT_GE(node.used(1).seconds(), 10) << "a fifth of the time, and the end of others' bursts";
  EXPECT_LE(node.used(1).seconds(), 18);
}

}  // namespace
}  // namespace nvs::core
