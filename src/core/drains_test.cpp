// SPDX-License-Identifier: Apache-2.0
// What can go wrong when a window is closed.
#include "core/drains.h"

#include <gtest/gtest.h>

#include "core/sim_node.h"

namespace nvs::core {
namespace {

// Tenant 1 was told to close, tenant 2 waits for it.
class Drains : public testing::Test {
 protected:
  Drains() {
    node.join(1, 1);
    node.join(2, 2);
    node.want(1);
    node.pass_ms(20);
    node.want(2);
    EXPECT_TRUE(node.is_closing(1));
  }
  SimNode node;
};

TEST_F(Drains, SilenceFreesTheWindow) {
  node.pass(kSilenceMax - Duration::from_ns(1));
  EXPECT_EQ(node.seat(1).state, TenantState::draining);
  EXPECT_FALSE(node.is_open(2));
  node.pass(Duration::from_ns(1));
  EXPECT_EQ(node.seat(1).state, TenantState::unresponsive);
  EXPECT_TRUE(node.is_open(2));
  const Duration used = node.used(1);
  node.pass_ms(1000);
  EXPECT_EQ(node.used(1), used) << "it is not billed for the others' time";
}

TEST_F(Drains, ALateAnswerBringsItBack) {
  node.pass_ms(1000);
  node.drained(1);
  EXPECT_EQ(node.seat(1).state, TenantState::idle);
  node.want(1);
  EXPECT_TRUE(node.is_closing(2));
  node.drained(2);
  EXPECT_TRUE(node.is_open(1));
}

TEST_F(Drains, AnyWordMakesItResponsiveButNotClosed) {
  node.pass_ms(400);
  node.want(1);
  EXPECT_EQ(node.seat(1).state, TenantState::draining);
  EXPECT_TRUE(node.is_open(2)) << "its want counts only once it has drained";
  EXPECT_EQ(node.view().gpus[0].waiting, 0U);
  node.pass_ms(300);
  EXPECT_EQ(node.seat(1).state, TenantState::unresponsive);
  node.drained(1);
  EXPECT_EQ(node.seat(1).state, TenantState::waiting);
}

TEST_F(Drains, OneThatSaysThatItIsAtItIsWaitedFor) {
  for (int i = 0; i < 100; ++i) {
    node.pass_ms(50);
    node.still(1);
  }
  EXPECT_FALSE(node.is_open(2));
}

TEST_F(Drains, ButNotForever) {
  for (int i = 0; i < 199; ++i) {
    node.pass_ms(50);
    node.still(1);
  }
  EXPECT_FALSE(node.is_open(2));
  node.pass_ms(50);
  EXPECT_TRUE(node.is_open(2));
  EXPECT_EQ(node.seat(1).state, TenantState::draining);
}

TEST_F(Drains, ARefusalLetsTheOthersOn) {
  node.refused(1);
  EXPECT_EQ(node.seat(1).state, TenantState::loose);
  EXPECT_EQ(node.view().gpus[0].loose, std::vector<TenantId>{TenantId{1}});
  EXPECT_TRUE(node.is_open(2));
  EXPECT_EQ(node.view().gpus[0].holder, TenantId{2});
}

TEST_F(Drains, ARefusalIsFollowedByAnotherQuestionAndTheWaitDoubles) {
  for (int wait_s : {1, 2, 4, 8, 16, 30, 30}) {
    node.refused(1);
    node.pass(Duration::from_s(wait_s) - Duration::from_ns(1));
    EXPECT_FALSE(node.is_closing(1));
    node.pass(Duration::from_ns(1));
    EXPECT_TRUE(node.is_closing(1));
    EXPECT_TRUE(node.is_open(2)) << "others are served as if it were not there";
  }
  node.drained(1);
  EXPECT_EQ(node.seat(1).state, TenantState::idle);
  EXPECT_TRUE(node.view().gpus[0].loose.empty());
}

TEST_F(Drains, ALooseTenantIsLeftAloneWhileNobodyElseIsThere) {
  node.refused(1);
  node.leave(2);
  node.pass_ms(60'000);
  EXPECT_FALSE(node.is_closing(1));
  node.join(3, 3);
  node.want(3);
  EXPECT_TRUE(node.is_open(3));
  node.pass_ms(1000);
  EXPECT_TRUE(node.is_closing(1));
}

TEST_F(Drains, AStallLetsOneInForEachThatWaits) {
  node.join(3, 1);
  node.join(4, 1);
  node.want(3);
  node.want(4);
  node.stalled(1);
  EXPECT_EQ(node.effects_text(),
            "let_one_in client=3 gpu=0 grant=2\nlet_one_in client=4 gpu=0 grant=3\n");
  node.stalled(1);
  EXPECT_EQ(node.effects_text(), "") << "a moment later";
  node.pass(kLetInEvery);
  node.stalled(1);
  EXPECT_EQ(node.effects_text(),
            "let_one_in client=3 gpu=0 grant=4\nlet_one_in client=4 gpu=0 grant=5\n");
  node.drained(1);
  EXPECT_TRUE(node.is_open(2));
}

// Work that was held back may be many submissions deep: one follows the other without a new stall.
TEST_F(Drains, WhoeverIsLetInGoesOnAsLongAsTheStallDoes) {
  node.join(3, 1);
  node.want(3);
  node.stalled(1);
  EXPECT_EQ(node.effects_text(), "let_one_in client=3 gpu=0 grant=2\n");
  node.step(Drained{ClientId{3}, GpuId{0}, GrantId{2}, true});
  EXPECT_EQ(node.effects_text(), "let_one_in client=3 gpu=0 grant=3\n");
  node.step(Drained{ClientId{3}, GpuId{0}, GrantId{2}, true});
  EXPECT_EQ(node.effects_text(), "") << "that was said of an earlier one";
  node.step(Drained{ClientId{3}, GpuId{0}, GrantId{3}, false});
  EXPECT_EQ(node.effects_text(), "") << "nobody waits there";
  node.stalled(1);
  EXPECT_EQ(node.effects_text(), "");
  EXPECT_EQ(node.view().gpus[0].waiting, 1U) << "tenant 2 alone";
  node.want(3);
  node.stalled(1);
  EXPECT_EQ(node.effects_text(), "let_one_in client=3 gpu=0 grant=4\n");
  node.drained(1);
  node.step(Drained{ClientId{3}, GpuId{0}, GrantId{4}, true});
  EXPECT_EQ(node.effects_text(), "") << "the stall is over";
}

// The stall was over before it was let in. What it brought waits for another of its tenant.
TEST_F(Drains, WhoeverIsLetInTooLateIsCaughtUpWith) {
  node.join(3, 1);
  node.join(4, 1);
  node.want(3);
  node.stalled(1);
  ASSERT_EQ(node.effects_text(), "let_one_in client=3 gpu=0 grant=2\n");
  node.drained(1, 0, true);
  ASSERT_TRUE(node.is_open(2));
  node.want(3);
  node.step(DrainStalled{ClientId{3}, GpuId{0}, GrantId{2}});
  EXPECT_EQ(node.effects_text(), "let_one_in client=1 gpu=0 grant=4\n") << "not client 3 itself";
  node.want(4);
  node.step(DrainStalled{ClientId{3}, GpuId{0}, GrantId{2}});
  EXPECT_EQ(node.effects_text(), "let_one_in client=4 gpu=0 grant=5\n") << "client 1 is at it";
  node.step(Drained{ClientId{1}, GpuId{0}, GrantId{4}, true});
  EXPECT_EQ(node.effects_text(), "") << "one was enough, or the stall is said again";
}

TEST_F(Drains, WhoeverIsLetInMayRefuseToo) {
  node.join(3, 1);
  node.want(3);
  node.stalled(1);
  ASSERT_EQ(node.effects_text(), "let_one_in client=3 gpu=0 grant=2\n");
  node.drained(1);
  ASSERT_TRUE(node.is_open(2));
  node.step(DrainRefused{ClientId{3}, GpuId{0}, GrantId{2}});
  EXPECT_EQ(node.seat(1).state, TenantState::loose);
  node.pass(kRefusalRetry);
  EXPECT_EQ(node.effects_text(),
            "close client=3 gpu=0 grant=2\nterms client=2 gpu=0 grant=3 bounded queue_us=6666\n");
  node.step(Drained{ClientId{3}, GpuId{0}, GrantId{2}, true});
  EXPECT_EQ(node.seat(1).state, TenantState::waiting);
  node.step(DrainRefused{ClientId{3}, GpuId{0}, GrantId{2}});
  EXPECT_EQ(node.seat(1).state, TenantState::waiting) << "nobody was let in since";
}

// It is ahead of those that wait at gates that have drained, and would stay ahead.
TEST_F(Drains, AStallDoesNotLetInTheOneThatDrainsUnlessItWaitsAlone) {
  node.want(1);
  node.stalled(1);
  EXPECT_EQ(node.effects_text(), "let_one_in client=1 gpu=0 grant=1\n");
  node.join(3, 1);
  node.want(3);
  node.stalled(1);
  EXPECT_EQ(node.effects_text(), "let_one_in client=3 gpu=0 grant=2\n");
}

TEST_F(Drains, TheHoldersDeathFreesTheWindow) {
  node.leave(1);
  EXPECT_TRUE(node.is_open(2));
}

TEST_F(Drains, AnswersNeverAskedForAreIgnored) {
  node.drained(1);
  ASSERT_TRUE(node.is_open(2));
  node.drained(1);
  EXPECT_EQ(node.effects_text(), "");
  node.refused(2);
  EXPECT_EQ(node.effects_text(), "");
  node.stalled(2);
  EXPECT_EQ(node.effects_text(), "");
  EXPECT_EQ(node.seat(2).state, TenantState::running);
}

TEST_F(Drains, AWindowThatIsGivenUpGoesToTheNextAtOnce) {
  node.drained(1);
  ASSERT_TRUE(node.is_open(2));
  node.want(1);
  node.drained(2);
  EXPECT_TRUE(node.is_open(1));
  EXPECT_EQ(node.seat(2).state, TenantState::idle);
  node.want(2);
  EXPECT_EQ(node.seat(2).state, TenantState::waiting);
}

// A thread came to the gate while the window was being given up.
TEST_F(Drains, WhoGivesUpAndWantsIsServedAgain) {
  node.drained(1);
  node.drained(2, 0, true);
  EXPECT_TRUE(node.is_open(2));
  EXPECT_EQ(node.opened(2), 2);
  EXPECT_EQ(node.seat(2).state, TenantState::running);
}

// It asked, its window was opened for another of its tenant, and the two messages crossed.
TEST_F(Drains, AWantFromBeforeTheWindowOpenedMeansWorkAndNothingMore) {
  node.join(3, 2);
  node.want(3);
  node.drained(1);
  node.drained(3);
  node.drained(2);
  node.want(2);  // opens for both
  ASSERT_TRUE(node.is_open(3));
  node.want(1);
  node.want(3);
  node.drained(2);
  EXPECT_EQ(node.effects_text(), "") << "client 3 works";
  node.drained(3);
  EXPECT_EQ(node.effects_text(), "open client=1 gpu=0 grant=6 bounded\n") << "nobody is at gate 3";
  node.want(3);
  EXPECT_EQ(node.seat(2).state, TenantState::waiting);
}

TEST_F(Drains, ThreadsAtTheGateCountAlthoughTheAnswerIsLate) {
  node.drained(1);
  node.step(Drained{ClientId{1}, GpuId{0}, GrantId{1}, true});
  EXPECT_EQ(node.seat(1).state, TenantState::waiting);
}

TEST_F(Drains, OneThatRefusedMayCloseByItselfLater) {
  node.refused(1);
  node.drained(1);
  EXPECT_EQ(node.seat(1).state, TenantState::idle);
  node.want(1);
  EXPECT_EQ(node.seat(1).state, TenantState::waiting);
}

TEST_F(Drains, TheOthersOfATenantKeepTheWindowThatOneGivesUp) {
  node.join(3, 2);
  node.want(3);
  node.drained(1);
  ASSERT_TRUE(node.is_open(2));
  ASSERT_TRUE(node.is_open(3));
  node.want(1);
  node.drained(2);
  EXPECT_EQ(node.effects_text(), "");
  EXPECT_TRUE(node.is_open(3));
  node.want(2);
  EXPECT_TRUE(node.is_open(2)) << "its tenant has the window";
  node.drained(2);
  node.drained(3);
  EXPECT_TRUE(node.is_open(1));
}

TEST_F(Drains, WhoComesNextIsToldWhenOnce) {
  const auto say = [this](Duration remaining) {
    node.step(StillDraining{ClientId{1}, GpuId{0}, node.grant(1), remaining});
  };
  say(Duration{});
  EXPECT_EQ(node.effects_text(), "") << "that may be any time";
  say(Duration::from_us(1500));
  ASSERT_EQ(node.effects().size(), 1U);
  const auto* ready = std::get_if<GetReady>(&node.effects()[0]);
  ASSERT_NE(ready, nullptr);
  EXPECT_EQ(ready->client, ClientId{2});
  EXPECT_EQ(ready->in, Duration::from_us(1500));
  say(Duration::from_us(700));
  EXPECT_EQ(node.effects_text(), "");
}

TEST_F(Drains, AnswersAboutAnEarlierGrantAreIgnored) {
  node.step(Drained{ClientId{1}, GpuId{0}, GrantId{77}});
  EXPECT_FALSE(node.is_open(2));
  node.step(DrainRefused{ClientId{1}, GpuId{0}, GrantId{0}});
  EXPECT_FALSE(node.is_open(2));
}

}  // namespace
}  // namespace nvs::core
