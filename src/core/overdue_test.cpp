// SPDX-License-Identifier: Apache-2.0
// How long gangs wait, and what they keep others from.
#include "core/overdue.h"

#include <gtest/gtest.h>

#include "core/gangs.h"
#include "core/sim_node.h"

namespace nvs::core {
namespace {

// On each GPU a high tenant (10 and up) and some of another class (20 and up for GPU 0, 30 and up
// for GPU 1) have work all the time. They use up what is owed to their class, at different times.
void crowd(SimNode& node, int gpus, Priority priority, int singles) {
  for (int gpu = 0; gpu < gpus; ++gpu) {
    node.join(10 + gpu, 10 + gpu, Priority::high);
    node.saturate(10 + gpu, gpu, Duration::from_us(100 + 37 * gpu));
    for (int i = 0; i < singles; ++i) {
      const int single = 20 + 10 * gpu + i;
      node.join(single, single, priority);
      node.saturate(single, gpu, Duration::from_us(150 + 91 * gpu + i));
    }
    node.pass_ms(7 + 3 * gpu);
  }
}

void saturate_all(SimNode& node, int gang, int first, int last) {
  for (int gpu = first; gpu <= last; ++gpu) node.saturate(gang, gpu);
}

Duration longest_wait(const SimNode& node, int gang, int gpu) {
  return node.seat(gang, gpu).longest_wait;
}

TEST(OverdueGangs, HaveTheirPartOfTheFloorBesideSinglesOfTheirClass) {
  for (const Priority priority : {Priority::low, Priority::normal}) {
    for (const int singles : {1, 4}) {
      SimNode node(3);
      crowd(node, 3, priority, singles);
      node.join(9, 9, priority);
      saturate_all(node, 9, 0, 2);
      node.pass_ms(60'000);
      const int share = priority == Priority::low ? kFloorShareLow : kFloorShareNormal;
      const double part = share / 1000.0 / (singles + 1);
      for (int gpu = 0; gpu < 3; ++gpu) {
        EXPECT_LT(longest_wait(node, 9, gpu), Duration::from_ms(25) * (singles + 1) * 1000 / share);
        EXPECT_NEAR(node.used(9, gpu).seconds() / 60, part, part / 4);
        EXPECT_NEAR(node.used(20 + 10 * gpu, gpu).seconds() / 60, part, part / 2);
        EXPECT_GT(node.used(10 + gpu, gpu).seconds() / 60, 0.95 - share / 1000.0);
      }
    }
  }
}

// Weights count among those of a class: the wait is by its part of the floor.
TEST(OverdueGangs, WaitByTheirWeight) {
  SimNode node(2);
  crowd(node, 2, Priority::normal, 1);
  node.join(9, 9, Priority::normal, 25);
  saturate_all(node, 9, 0, 1);
  node.pass_ms(10);
  node.step(WeightSet{TenantId{20}, 25});
  node.step(WeightSet{TenantId{30}, 75});
  node.pass_ms(60'000);
  EXPECT_NEAR(node.used(9, 1).seconds() / 60, 0.2 / 4, 0.2 / 12);
  EXPECT_LT(longest_wait(node, 9, 1), Duration::from_ms(25) * 5 * 5);
}

// Each shares a GPU with the next, and each GPU with singles.
TEST(OverdueGangs, ThatOverlapWaitForAWindowOfTheOthersEach) {
  SimNode node(4);
  crowd(node, 4, Priority::low, 2);
  for (int gang = 1; gang <= 3; ++gang) {
    node.join(gang, gang, Priority::low);
    saturate_all(node, gang, gang - 1, gang);
  }
  node.pass_ms(60'000);
  for (int gang = 1; gang <= 3; ++gang) {
    EXPECT_LT(longest_wait(node, gang, gang), Duration::from_ms(4 * 400 + 3 * 2 * 25)) << gang;
  }
}

// Not even by a high tenant that wakes, where the window was not owed to the class.
TEST(OverdueGangs, KeepTheirWindowsToTheEnd) {
  SimNode node(3);
  crowd(node, 3, Priority::low, 1);
  node.join(9, 9, Priority::low);
  saturate_all(node, 9, 0, 2);
  for (int windows = 1; windows < 20; ++windows) {
    while (node.opened(9, 0) < windows) node.pass_ms(1);
    const int woken = 100 + windows;
    node.join(woken, woken, Priority::high);
    for (int gpu = 0; gpu < 3; ++gpu) {
      node.want(woken, gpu);
      EXPECT_TRUE(node.is_open(9, gpu)) << gpu;
    }
    node.leave(woken);
  }
}

// Gang 7 is on its way to GPUs 1 and 2, but tenant 1 takes long to drain. Gang 8 waits for GPUs 0
// and 1 until it is overdue.
class AnOverdueGang : public testing::Test {
 protected:
  AnOverdueGang() {
    for (const int client : {1, 2, 7, 8}) node.join(client, client);
    for (const int client : {3, 9}) node.join(client, client, Priority::high);
    node.want(1, 2);
    node.pass_ms(20);
    node.want(7, 1);
    node.want(7, 2);
    node.want(8, 1);
    node.want(8, 0);
    drag_on(300);
  }
  void drag_on(int ms) {
    for (; ms > 0; ms -= 50) {
      node.pass_ms(50);
      node.still(1, 2);
    }
  }

  SimNode node{5};
};

// Tenant 3 has GPU 3. Gang 9 needs that and GPU 0, and is of a higher class.
TEST_F(AnOverdueGang, IsNotPassedByAYoungerOneThatHasToWaitForADrain) {
  node.want(3, 3);
  node.want(9, 3);
  node.want(9, 0);
  drag_on(50);
  EXPECT_TRUE(node.is_open(3, 3)) << "gang 9 is not overdue";
  drag_on(250);
  EXPECT_TRUE(node.is_open(3, 3)) << "gang 9 is overdue, and younger";
  node.drained(1, 2, true);
  EXPECT_TRUE(node.is_open(7, 2));
  node.pass_ms(15);
  node.want(2, 0);
  EXPECT_TRUE(node.is_open(7, 1)) << "its window was overdue too";
  EXPECT_TRUE(node.is_open(2, 0)) << "singles go on";
  node.pass_ms(6);
  EXPECT_TRUE(node.is_closing(7, 1));
  node.drained(2, 0, true);
  node.drained(7, 1, true);
  node.drained(7, 2, true);
  EXPECT_TRUE(node.is_open(8, 0));
  EXPECT_TRUE(node.is_open(8, 1));
  node.pass_ms(21);
  EXPECT_TRUE(node.is_closing(3, 3)) << "now it is gang 9's turn";
}

// Gang 9 finds its GPUs free. They do not stand idle until tenant 1 has drained.
TEST_F(AnOverdueGang, LeavesItsGpusToOthersThatNeedNotWait) {
  node.want(3, 3);
  node.want(9, 3);
  node.want(9, 0);
  node.drained(3, 3);
  EXPECT_TRUE(node.is_open(9, 0));
  EXPECT_TRUE(node.is_open(9, 3));
  node.drained(1, 2);
  EXPECT_TRUE(node.is_open(7, 2));
  node.pass_ms(21);
  EXPECT_TRUE(node.is_closing(9, 0)) << "gang 8 takes what it needs, and no window was overdue";
}

// Gang 6 needs GPU 0 too, and comes after gang 8, however long it waits. Until then it does not
// keep GPU 3 from gang 9, whose turn it is.
TEST_F(AnOverdueGang, IsWaitedForByOthersThatKeepNobodyElseWaiting) {
  node.join(6, 6);
  node.want(2, 3);
  node.want(6, 3);
  node.want(6, 0);
  drag_on(300);
  ASSERT_TRUE(node.is_open(2, 3)) << "gang 6 cannot start";
  node.want(9, 4);
  node.want(9, 3);
  EXPECT_TRUE(node.is_closing(2, 3));
  node.drained(2, 3);
  EXPECT_TRUE(node.is_open(9, 3));
}

// Gang 9 has GPU 1 and waits so long for GPU 0, until tenant 1 has drained there. Of two of its
// class it is overdue after ten windows. Tenant 3 is of a higher class.
void open_gang_after(SimNode& node, int ms) {
  for (const int client : {1, 9}) node.join(client, client);
  node.join(3, 3, Priority::high);
  node.want(1, 0);
  node.want(9, 1);
  node.pass_ms(50);
  node.want(9, 0);
  for (; ms > 0; ms -= 50) {
    node.pass_ms(50);
    node.still(1, 0);
  }
  ASSERT_FALSE(node.is_open(9, 0));
  node.drained(1, 0, true);
  ASSERT_TRUE(node.is_open(9, 0));
}

// It is behind tenant 1 and goes on, but that is not what it waited for.
TEST(OverdueGangs, KeepNoWindowThatIsRenewed) {
  SimNode node(2);
  open_gang_after(node, 300);
  node.pass_ms(25);
  ASSERT_TRUE(node.is_open(9, 0));
  node.want(3, 0);
  EXPECT_TRUE(node.is_closing(9, 0));
}

// Its window is as long on all its GPUs. By a shorter one it would be overdue too often.
TEST(OverdueGangs, AreThatByTheLongestWindowOfTheirGpus) {
  for (const auto& [first_ms, second_ms] : {std::pair(40, 10), std::pair(10, 40)}) {
    for (const int waited_ms : {350, 450}) {
      SimNode node(2);
      node.step(PolicySet{GpuId{0}, {Mode::automatic, Duration::from_ms(first_ms), {}}});
      node.step(PolicySet{GpuId{1}, {Mode::automatic, Duration::from_ms(second_ms), {}}});
      open_gang_after(node, waited_ms);
      node.want(3, 0);
      EXPECT_EQ(node.is_open(9, 0), waited_ms > 400) << first_ms << ", " << waited_ms;
    }
  }
}

// While two gangs could not have GPU 1, tenant 1 used GPU 0. They do not catch up with all of that,
// and who comes then does not start where they stand.
TEST(OverdueGangs, WhatAGangCouldNotUseIsGone) {
  SimNode node(2);
  for (const int gang : {8, 9}) {
    node.join(gang, gang);
    saturate_all(node, gang, 0, 1);
  }
  node.join(1, 1);
  node.saturate(1, 0);
  for (int single = 10; single < 50; ++single) {
    node.join(single, single);
    node.saturate(single, 1);
  }
  node.pass_ms(20'000);
  ASSERT_GT(node.used(1, 0).seconds() / 20, 0.8);
  const auto expect_served = [&node](const char* when) {
    for (int round = 0; round < 10; ++round) {
      const Duration before = node.used(1, 0);
      node.pass_ms(300);
      EXPECT_GT(node.used(1, 0), before) << when << ", round " << round;
    }
  };
  node.join(2, 2);
  node.saturate(2, 0);
  expect_served("beside a newcomer");
  for (int single = 10; single < 50; ++single) node.leave(single);
  expect_served("beside gangs");
}

// More gangs than are looked at, which cannot start: a high tenant (20) has GPU 1. Tenant 50 shares
// GPU 0 with a single one (10), and has been a gang too when it comes to stand behind them.
class FormerGang : public testing::Test {
 protected:
  FormerGang() {
    node.join(20, 20, Priority::high);
    for (const int client : {10, 50}) node.join(client, client, Priority::low);
    node.join(51, 50, Priority::low);
    for (const int client : {50, 10}) node.saturate(client, 0);
    node.pass_ms(500);
    while (node.is_open(50)) node.pass_ms(1);
    while (!node.is_open(50)) node.pass_ms(1);
    node.pass_ms(10);
  }
  void gangs_come() {
    for (int gang = 100; gang < 100 + kGangTries * 5; ++gang) {
      node.join(gang, gang, Priority::low);
      saturate_all(node, gang, 0, 1);
    }
  }
  void expect_that_it_is_served_after(Duration span) {
    node.pass(span);
    const int opened = node.opened(50);
    node.pass_ms(1000);
    EXPECT_GT(node.opened(50), opened + 15) << "about every other window";
  }
  SimNode node{2};
};

TEST_F(FormerGang, IsASingleAgainWhenItsOtherMemberLeaves) {
  node.saturate(20, 1);
  gangs_come();
  while (node.is_open(50) || node.is_closing(50)) node.pass(Duration::from_us(20));
  node.want(51, 1);
  node.pass_ms(1);
  node.leave(51);
  expect_that_it_is_served_after({});
}

TEST_F(FormerGang, IsASingleAgainWhenWhatItLeftBehindIsForgotten) {
  node.want(51, 1);
  ASSERT_TRUE(node.is_open(50) && node.is_open(51, 1));
  node.saturate(20, 1);
  ASSERT_TRUE(node.is_closing(51, 1)) << "in the middle of its work";
  node.drained(51, 1);
  node.pass_ms(1);
  gangs_come();
  expect_that_it_is_served_after(kGangMemory);
}

}  // namespace
}  // namespace nvs::core
