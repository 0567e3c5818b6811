// SPDX-License-Identifier: Apache-2.0
// Modes, pauses, restarts and departures.
#include "core/settings.h"

#include <gtest/gtest.h>

#include "core/sim_node.h"

namespace nvs::core {
namespace {

GpuPolicy policy_of(Mode mode) { return {mode, Duration::from_ms(20), std::nullopt}; }

TEST(Modes, ConcurrentOpensEverybodyForGood) {
  SimNode node(1, policy_of(Mode::concurrent));
  for (int i = 1; i <= 3; ++i) {
    node.join(i, i);
    node.want(i);
    EXPECT_TRUE(node.is_open(i));
  }
  node.pass_ms(60'000);
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(node.is_open(i));
  EXPECT_EQ(node.deadline(), std::nullopt);
}

TEST(Modes, FromConcurrentToWindowsOneGoesOn) {
  SimNode node(1, policy_of(Mode::concurrent));
  for (int i = 1; i <= 3; ++i) {
    node.join(i, i);
    node.want(i);
  }
  node.step(PolicySet{GpuId{0}, policy_of(Mode::automatic)});
  EXPECT_EQ(node.effects_text(),
            "close client=2 gpu=0 grant=2\nclose client=3 gpu=0 grant=3\n"
            "terms client=1 gpu=0 grant=1 bounded\n");
}

TEST(Modes, FromWindowsToConcurrentAllAreOpenedAndNobodyIsBounded) {
  SimNode node;
  for (int i = 1; i <= 3; ++i) {
    node.join(i, i);
    node.want(i);
  }
  node.step(PolicySet{GpuId{0}, policy_of(Mode::concurrent)});
  EXPECT_EQ(node.effects_text(),
            "terms client=1 gpu=0 grant=1\n"
            "open client=2 gpu=0 grant=2\nopen client=3 gpu=0 grant=3\n");
}

TEST(Modes, SerialGivesWholeTurns) {
  SimNode node(1, policy_of(Mode::serial));
  node.join(1, 1);
  node.join(2, 2, Priority::high);
  node.saturate(1);
  node.pass_ms(10);
  node.saturate(2);
  node.pass_ms(29'980);
  EXPECT_TRUE(node.is_open(1)) << "nobody takes it in the middle of a turn";
  node.pass_ms(11);
  EXPECT_TRUE(node.is_open(2));
}

TEST(Modes, SerialGivesUpAnIdleTurn) {
  SimNode node(1, policy_of(Mode::serial));
  node.join(1, 1);
  node.join(2, 2);
  node.want(1);
  node.want(2);
  node.pass_ms(100);
  node.idle(1);
  EXPECT_TRUE(node.is_open(1)) << "a pause is no end";
  node.pass(kRestMin);
  EXPECT_TRUE(node.is_closing(1));
}

TEST(Modes, AnOtherWindowCountsForTheOneThatIsOpen) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.want(1);
  node.want(2);
  node.pass_ms(6);
  node.step(PolicySet{GpuId{0}, {Mode::automatic, Duration::from_ms(5), std::nullopt}});
  EXPECT_TRUE(node.is_closing(1));
}

// A second in the order of one with the least weight is nearly two minutes of one with much.
TEST(Weights, ThatChangeCarryAPlaceOverWithinAWindow) {
  SimNode node(1, {Mode::automatic, Duration::from_ms(80), std::nullopt});
  for (int i : {1, 2}) {
    node.join(i, i);
    node.saturate(i);
  }
  node.step(WeightSet{TenantId{1}, 1});
  while (!node.is_open(1)) node.pass_ms(1);
  node.pass_ms(79);
  node.step(WeightSet{TenantId{1}, 100});
  node.pass_ms(2000);
  EXPECT_NEAR(node.used(1).seconds(), node.used(2).seconds(), 0.3);
}

// What was used side by side is nobody's service.
TEST(Modes, TimeInConcurrentModeCountsForNobody) {
  SimNode node(1, policy_of(Mode::concurrent));
  node.join(1, 1);
  node.join(2, 2);
  node.want(1);
  node.pass_ms(60'000);
  node.saturate(2);
  node.step(PolicySet{GpuId{0}, policy_of(Mode::automatic)});
  node.saturate(1);
  node.pass_ms(2000);
  const Duration before = node.used(1);
  node.pass_ms(2000);
  EXPECT_NEAR((node.used(1) - before).seconds(), 1, 0.1);
}

TEST(Pause, ClosesAtOnceAlthoughNobodyWaits) {
  SimNode node;
  node.join(1, 1);
  node.want(1);
  node.pass_ms(1);
  node.step(TenantPaused{TenantId{1}});
  EXPECT_EQ(node.effects_text(), "close client=1 gpu=0 grant=1\n");
  node.drained(1);
  node.want(1);
  EXPECT_EQ(node.effects_text(), "");
  EXPECT_EQ(node.seat(1).state, TenantState::paused);
  EXPECT_EQ(node.seat(1).waiting_now, Duration{});
  node.pass_ms(1000);
  node.step(TenantResumed{TenantId{1}});
  EXPECT_TRUE(node.is_open(1));
}

TEST(Pause, HoldsInConcurrentModeToo) {
  SimNode node(1, policy_of(Mode::concurrent));
  node.join(1, 1);
  node.want(1);
  node.step(TenantPaused{TenantId{1}});
  EXPECT_TRUE(node.is_closing(1));
  node.drained(1);
  node.want(1);
  EXPECT_FALSE(node.is_open(1));
}

TEST(FoundOpen, TheFirstGoesOnAndTheOthersAreClosed) {
  SimNode node;
  for (int i = 1; i <= 3; ++i) node.join(i, i);
  node.found_open(1);
  EXPECT_EQ(node.effects_text(), "open client=1 gpu=0 grant=1 bounded queue_us=6666\n");
  node.found_open(2);
  EXPECT_EQ(node.effects_text(),
            "close client=2 gpu=0 grant=2\nterms client=1 gpu=0 grant=1 bounded\n");
  node.want(3);
  EXPECT_TRUE(node.is_closing(1)) << "it has had its time";
  node.drained(1);
  EXPECT_FALSE(node.is_open(3)) << "the second has not drained yet";
  node.drained(2);
  EXPECT_TRUE(node.is_open(3));
}

TEST(FoundOpen, WhoeverComesLateIsClosedButNotWaitedFor) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.saturate(1);
  node.saturate(2);
  for (int stray = 3; stray < 13; ++stray) {
    node.join(stray, 3);
    node.found_open(stray, 0, false);
    EXPECT_TRUE(node.is_closing(stray));
    for (int i = 0; i < 10; ++i) {
      node.pass_ms(90);
      node.still(stray);
    }
    if (stray % 2 == 0) node.leave(stray);
  }
  EXPECT_NEAR(node.used(1).seconds(), 4.5, 0.1);
  EXPECT_NEAR(node.used(2).seconds(), 4.5, 0.1);
  EXPECT_GT(node.used(3).seconds(), 8) << "it is billed";
  node.drained(3, 0, true);
  EXPECT_FALSE(node.is_closing(3));
  node.pass_ms(100);
  EXPECT_GE(node.opened(3), 1) << "and served like any other from then on";
}

// A turn of serial mode outlasts a pause: the GPU is free, and kept.
TEST(FoundOpen, WhoeverComesLateTakesNoPlaceThatIsKept) {
  for (const bool in_time : {false, true}) {
    SimNode node(1, {Mode::serial, Duration::from_ms(20), Duration::from_s(5)});
    node.join(1, 1);
    node.join(2, 2);
    node.want(1);
    node.pass_ms(1000);
    node.drained(1);
    node.pass_ms(10);
    node.found_open(2, 0, in_time);
    EXPECT_EQ(node.is_open(2), in_time);
    node.want(1);
    EXPECT_EQ(node.is_open(1), !in_time);
  }
}

TEST(FoundOpen, WhoeverComesLateToAFreeGpuGoesOn) {
  SimNode node;
  node.join(1, 1);
  node.found_open(1, 0, false);
  EXPECT_TRUE(node.is_open(1));
}

// After a restart of the daemon all come back, but not at once: a queue without a bound would be
// seconds deep when the second is here.
TEST(FoundOpen, OthersMayBeOnTheirWay) {
  SimNode node;
  node.join(1, 1);
  node.found_open(1);
  EXPECT_EQ(node.effects_text(), "open client=1 gpu=0 grant=1 bounded queue_us=6666\n");
  node.pass(kPresence - Duration::from_ns(1));
  EXPECT_EQ(node.take_trace().find("terms"), std::string::npos);
  node.pass(Duration::from_ns(1));
  EXPECT_EQ(node.effects_text(), "terms client=1 gpu=0 grant=1\n") << "it is alone";
}

TEST(FoundOpen, APausedTenantIsClosed) {
  SimNode node;
  node.join(1, 1);
  node.step(TenantPaused{TenantId{1}});
  node.found_open(1);
  EXPECT_TRUE(node.is_closing(1));
}

TEST(FoundOpen, TwiceIsOnce) {
  SimNode node;
  node.join(1, 1);
  node.found_open(1);
  node.found_open(1);
  EXPECT_EQ(node.effects_text(), "");
  EXPECT_EQ(node.seat(1).windows, 1U);
}

TEST(Unknown, IsIgnored) {
  SimNode node;
  node.join(1, 1);
  for (const Event& event :
       {Event{Wanted{ClientId{7}, GpuId{0}}}, Event{Wanted{ClientId{1}, GpuId{7}}},
        Event{Drained{ClientId{1}, GpuId{0}, GrantId{1}}},
        Event{WentIdle{ClientId{1}, GpuId{0}, GrantId{1}}}, Event{ClientLeft{ClientId{7}}},
        Event{TenantPaused{TenantId{7}}}, Event{PolicySet{GpuId{7}, {}}},
        Event{GpuAdded{GpuId{5}, 0, {}}}}) {
    node.step(event);
    EXPECT_EQ(node.effects_text(), "");
  }
  EXPECT_EQ(node.view().gpus.size(), 1U);
  EXPECT_TRUE(node.view().tenants[0].gpus.empty());
}

TEST(Time, StandsStillWhenItGoesBack) {
  Scheduler scheduler;
  std::vector<Effect> effects;
  const auto at = [](int ms) { return Instant::from_ns(ms * 1'000'000LL); };
  scheduler.step(at(1000), GpuAdded{GpuId{0}, 0, {}}, effects);
  scheduler.step(at(1000), ClientJoined{ClientId{1}, TenantId{1}}, effects);
  scheduler.step(at(1000), Wanted{ClientId{1}, GpuId{0}}, effects);
  scheduler.step(at(500), Tick{}, effects);
  EXPECT_EQ(scheduler.view(at(400)).tenants[0].gpus[0].used, Duration{});
  scheduler.step(at(1003), Tick{}, effects);
  EXPECT_EQ(scheduler.view(at(1003)).tenants[0].gpus[0].used, Duration::from_ms(3));
}

TEST(View, TotalsOfAGpu) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.pass_ms(10);
  node.want(1);
  node.pass_ms(5);
  node.want(2);
  node.pass_ms(15);
  node.pass_ms(2);
  node.drained(1);
  node.pass_ms(1);
  const GpuView gpu = node.view().gpus[0];
  EXPECT_EQ(gpu.holder, TenantId{2});
  EXPECT_EQ(gpu.switches, 2U);
  EXPECT_EQ(gpu.held, Duration::from_ms(23));
  EXPECT_EQ(gpu.handover, Duration::from_ms(2));
  EXPECT_EQ(node.used(1), Duration::from_ms(22));
  EXPECT_EQ(node.seat(2).waited, Duration::from_ms(17));
  EXPECT_EQ(node.seat(2).longest_wait, Duration::from_ms(17));
  EXPECT_EQ(node.seat(2).windows, 1U);
}

}  // namespace
}  // namespace nvs::core
