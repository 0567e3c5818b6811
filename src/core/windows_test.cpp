// SPDX-License-Identifier: Apache-2.0
// Windows on one GPU: order, ends, terms, bills.
#include "core/windows.h"

#include <sstream>
#include <variant>

#include <gtest/gtest.h>

#include "core/sim_node.h"

namespace nvs::core {
namespace {

TEST(Windows, AFreeGpuIsOpenedAtOnceAndWithoutTerms) {
  SimNode node;
  node.join(1, 1);
  node.want(1);
  EXPECT_EQ(node.effects_text(), "open client=1 gpu=0 grant=1\n");
  node.pass_ms(60'000);
  EXPECT_TRUE(node.is_open(1)) << "nothing is closed while nobody waits";
  EXPECT_EQ(node.seat(1).used, Duration::from_ms(60'000));
}

TEST(Windows, TheWindowIsOverAtOnceForTheFirstToWaitAfterItsEnd) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.want(1);
  node.pass_ms(100);
  node.want(2);
  EXPECT_EQ(node.effects_text(), "close client=1 gpu=0 grant=1\n");
  node.drained(1);
  EXPECT_EQ(node.effects_text(), "open client=2 gpu=0 grant=2 bounded\n");
}

TEST(Windows, AWaiterWithinTheWindowWaitsForItsEnd) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.want(1);
  node.pass_ms(5);
  node.want(2);
  EXPECT_EQ(node.effects_text(), "terms client=1 gpu=0 grant=1 bounded awaited\n");
  node.pass(Duration::from_us(14'999));
  EXPECT_TRUE(node.is_open(1));
  node.pass(Duration::from_us(1));
  EXPECT_TRUE(node.is_closing(1));
  EXPECT_EQ(node.seat(2).waiting_now, Duration::from_ms(15));
}

TEST(Windows, TwoThatSaturateShareEqually) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.saturate(1);
  node.saturate(2);
  node.pass_ms(10'000);
  const double part = node.used(1).seconds() / 10;
  EXPECT_NEAR(part, 0.5, 0.01);
  EXPECT_EQ(node.used(1) + node.used(2), Duration::from_ms(10'000));
}

TEST(Windows, WeightsAreShares) {
  SimNode node;
  node.join(1, 1, Priority::normal, 300);
  node.join(2, 2, Priority::normal, 100);
  node.saturate(1);
  node.saturate(2);
  node.pass_ms(10'000);
  EXPECT_NEAR(node.used(1).seconds() / 10, 0.75, 0.01);
}

TEST(Windows, OneThatSleepsTakesTheGpuWhenItWakes) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.want(2);
  node.idle(2);
  node.saturate(1);
  node.drained(2);
  node.pass_ms(107);
  node.want(2);
  EXPECT_TRUE(node.is_closing(1)) << "in the middle of a window";
}

// What it did not use while it slept is gone, but for the length of a window.
TEST(Windows, OneThatSleptLongSharesFromThenOn) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.want(2);
  node.pass_ms(1);
  node.idle(2);
  node.saturate(1);
  node.drained(2);
  node.pass_ms(10'000);
  const Duration before = node.used(1);
  node.saturate(2);
  node.pass_ms(1'000);
  EXPECT_GT(node.used(1) - before, Duration::from_ms(460));
}

TEST(Windows, OneThatSleepsMuchHasItsWorkDoneAtOnceAndTheOtherHasTheRest) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.burst(2, 0, Duration::from_us(50), Duration::from_ms(10));
  node.pass_ms(5);
  node.saturate(1);
  node.pass_ms(10'000);
  EXPECT_LT(node.seat(2).longest_wait, Duration::from_ms(1));
  EXPECT_GT(node.used(1).seconds() / 10, 0.97);
  EXPECT_EQ(node.opened(2), 1001);
}

TEST(Windows, WakingAThousandTimesASecondDoesNotPay) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.saturate(1);
  node.burst(2, 0, Duration::from_us(300), Duration::from_us(700));
  node.pass_ms(10'000);
  // Its switches are charged, so that in the end it has to wait for ordinary windows.
  EXPECT_GT(node.used(1).seconds() / 10, 0.5);
  EXPECT_GT(node.seat(2).longest_wait, Duration::from_ms(5));
}

TEST(Windows, SwitchesAreChargedToWhoWakes) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.burst(2, 0, Duration::from_us(10), Duration::from_us(150));
  node.saturate(1);
  node.pass_ms(1000);
  // It asks 6666 times, for a fifteenth of the GPU, but each switch costs the other far more.
  EXPECT_LT(node.opened(2), 5000);
  EXPECT_LT(node.used(2), Duration::from_ms(100));
}

TEST(Windows, ATenantIsToldWhetherAnotherHadTheGpuBefore) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  const auto took_over = [&node](int client) {
    node.want(client);
    const auto& open = std::get<OpenWindow>(node.effects().front());
    node.drained(client);
    return open.took_over;
  };
  EXPECT_FALSE(took_over(1)) << "nobody had it";
  EXPECT_FALSE(took_over(1));
  EXPECT_TRUE(took_over(2));
  EXPECT_FALSE(took_over(2));
  EXPECT_TRUE(took_over(1));
  node.want(2);
  node.drained(2, 0, true);
  const auto& again = std::get<OpenWindow>(node.effects().front());
  EXPECT_FALSE(again.took_over) << "the same window goes on";
}

TEST(Windows, WhoeverLostItsWindowWaitsForTheOneItWasEndedFor) {
  SimNode node;
  node.join(1, 1);
  node.join(3, 1);
  node.join(2, 2);
  node.want(2);
  node.pass_ms(20);
  node.want(1);
  node.want(3);
  node.pass_ms(25);
  node.drained(2);
  node.want(2);
  node.pass_ms(20);
  ASSERT_TRUE(node.is_closing(1)) << "5 ms behind is not enough to go on";
  node.want(1);
  node.drained(1);
  node.drained(3);
  EXPECT_TRUE(node.is_open(2));
}

// What it keeps others off with is not billed, since it does not work; but it is served by it.
TEST(Windows, WhoeverIsIdleAndTakesItsTimeToCloseIsServedNoMoreThanOthers) {
  for (const int closes_after_ms : {250, 49, 5}) {
    for (const bool wants_again_later : {false, true}) {
      SimNode node;
      node.join(1, 1);
      node.join(2, 2);
      node.want(1);
      node.saturate(2);
      const Instant since = node.now();
      while (node.now() - since < Duration::from_s(20)) {
        while (!node.is_open(1) && !node.is_closing(1)) node.pass_ms(1);
        node.idle(1);
        node.pass_ms(closes_after_ms);
        node.drained(1, 0, !wants_again_later);
        if (wants_again_later) node.want(1);
      }
      EXPECT_LE(node.used(1), Duration::from_ms(node.opened(1))) << "until it says that it is idle";
      EXPECT_GT(node.used(2).seconds(), 8) << "of 20; closes after " << closes_after_ms << " ms";
    }
  }
}

// It held nobody up until it was told to close.
TEST(Windows, WhoeverWasIdleForLongAndClosesAtOnceIsServedAsBefore) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.want(1);
  node.idle(1);
  node.pass_ms(60'000);
  node.saturate(2);
  node.drained(1);
  node.pass_ms(100);
  node.want(1);
  node.pass_ms(50);
  EXPECT_EQ(node.opened(1), 2);
}

TEST(Windows, AnIdleHolderIsClosedForAnyone) {
  SimNode node;
  node.join(1, 1, Priority::high);
  node.join(2, 2, Priority::low);
  node.want(1);
  node.want(2);
  EXPECT_TRUE(node.is_open(1));
  node.pass_ms(1);
  node.idle(1);
  EXPECT_TRUE(node.is_closing(1));
}

TEST(Windows, IdleTimeIsNotBilled) {
  SimNode node;
  node.join(1, 1);
  node.want(1);
  node.pass_ms(3);
  node.idle(1);
  EXPECT_EQ(node.seat(1).state, TenantState::idle);
  node.pass_ms(5);
  node.busy(1);
  EXPECT_EQ(node.seat(1).state, TenantState::running);
  node.pass_ms(2);
  node.idle(1);
  node.pass_ms(2);
  EXPECT_EQ(node.used(1), Duration::from_ms(5));
}

TEST(Windows, ClientsOfATenantRunTogether) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 1);
  node.join(3, 2);
  node.want(1);
  node.want(2);
  EXPECT_EQ(node.effects_text(), "open client=2 gpu=0 grant=2\n") << "its tenant's window is open";
  node.pass_ms(20);
  node.want(3);
  EXPECT_EQ(node.effects_text(), "close client=1 gpu=0 grant=1\nclose client=2 gpu=0 grant=2\n");
  node.drained(2);
  EXPECT_EQ(node.effects_text(), "");
  node.drained(1);
  EXPECT_EQ(node.effects_text(), "open client=3 gpu=0 grant=3 bounded\n");
  node.want(1);
  node.pass_ms(20);
  node.drained(3);
  EXPECT_EQ(node.effects_text(),
            "open client=1 gpu=0 grant=4 bounded\nopen client=2 gpu=0 grant=5 bounded\n")
      << "all clients that ever wanted this GPU";
}

// How often two clients were told terms that bound their queues, and how often by a third of 20 ms.
struct Bounds {
  int all = 0;
  int deep = 0;
};
Bounds bounds_of_first_two(const std::string& trace) {
  Bounds bounds;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    const bool is_other = line.find("client=3") != std::string::npos;
    if (is_other || line.find(" bounded") == std::string::npos) continue;
    ++bounds.all;
    bounds.deep += line.find(" bounded queue_us=6666") != std::string::npos ? 1 : 0;
  }
  return bounds;
}

class Queues : public testing::Test {
 protected:
  Queues() {
    for (const int client : {1, 2}) {
      node.join(client, client);
      node.saturate(client);
    }
  }
  Bounds bounds_after(Duration span) {
    node.pass(span);
    node.take_trace();
    node.pass_ms(1000);
    return bounds_of_first_two(node.take_trace());
  }

  SimNode node;
};

TEST_F(Queues, AreDeeperWhereNobodySleeps) {
  const Bounds bounds = bounds_after(kSteadySpan);
  EXPECT_GT(bounds.all, 40);
  EXPECT_EQ(bounds.deep, bounds.all);
}

TEST_F(Queues, AreShortWhileSomebodyMayWake) {
  node.join(3, 3);
  node.burst(3, 0, Duration::from_ms(1), Duration::from_ms(50));
  const Bounds beside = bounds_after(kSteadySpan * 2);
  EXPECT_GT(beside.all, 40);
  EXPECT_EQ(beside.deep, 0);
  node.leave(3);
  const Bounds after = bounds_after(Duration::from_ms(100));
  EXPECT_GT(after.all, 40);
  EXPECT_EQ(after.deep, after.all);
}

TEST_F(Queues, AreShortForTheSakeOfOneThatSleepsInItsOwnWindow) {
  node.join(3, 3);
  node.pass_ms(2000);
  for (const int client : {1, 2}) node.leave(client);
  node.want(3);
  node.pass_ms(5);
  node.idle(3);
  node.pass_ms(3000);
  ASSERT_TRUE(node.is_open(3)) << "nobody else is about";
  for (const int client : {1, 2}) {
    node.join(client, client);
    node.saturate(client);
  }
  node.drained(3);
  const Bounds beside = bounds_after(kSteadySpan);
  EXPECT_GT(beside.all, 40);
  EXPECT_EQ(beside.deep, 0);
}

TEST_F(Queues, AreShortUntilItIsKnownWhoSleeps) {
  node.pass_ms(100);
  const Bounds bounds = bounds_of_first_two(node.take_trace());
  EXPECT_GT(bounds.all, 2);
  EXPECT_EQ(bounds.deep, 0);
}

TEST(Windows, BoundsEndWhenTheOtherHasBeenAwayLongEnough) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.want(2);
  node.want(1);
  node.idle(2);
  node.drained(2);
  EXPECT_EQ(node.effects_text(), "open client=1 gpu=0 grant=2 bounded\n");
  node.pass(kPresence - Duration::from_ns(1));
  EXPECT_EQ(node.deadline(), node.now() + Duration::from_ns(1));
  node.pass(Duration::from_ns(1));
  EXPECT_EQ(node.effects_text(), "terms client=1 gpu=0 grant=2\n");
}

TEST(Windows, ATenantThatLeftForGoodIsNotExpectedBack) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.want(2);
  node.want(1);
  node.leave(2);
  EXPECT_EQ(node.effects_text(), "open client=1 gpu=0 grant=2\n");
}

TEST(Windows, TheHolderGoesOnAtItsWindowsEndIfItIsNextAnyway) {
  SimNode node;
  node.join(1, 1, Priority::high);
  node.join(2, 2, Priority::normal);
  node.saturate(1);
  node.want(2);
  node.pass_ms(90);
  EXPECT_EQ(node.opened(1), 1) << "a drain in between would only cost time";
  node.pass_ms(20);
  EXPECT_TRUE(node.is_open(2)) << "a fifth of the time is owed to it";
}

}  // namespace
}  // namespace nvs::core
