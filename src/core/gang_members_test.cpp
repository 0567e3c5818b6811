// SPDX-License-Identifier: Apache-2.0
// Which GPUs belong to a gang: members come, go, are lost and are given up.
#include <gtest/gtest.h>

#include "core/two_gpus.h"

namespace nvs::core {
namespace {

class GangMembers : public TwoGpus {};

TEST_F(GangMembers, AReservationEndsWithItsTenant) {
  let_singles_run();
  gang_wants();
  node.drained(1, 0);
  node.want(1, 0);
  EXPECT_FALSE(node.is_open(1, 0));
  node.leave(9);
  EXPECT_TRUE(node.is_open(1, 0));
}

TEST_F(GangMembers, WhoIsNoGangAnyMoreIsServedAtOnce) {
  node.join(4, 9);
  node.join(5, 9);
  node.want(1, 0);
  node.want(4, 0);
  node.want(5, 1);
  EXPECT_FALSE(node.is_open(5, 1)) << "GPU 0 is not free";
  node.leave(4);
  EXPECT_TRUE(node.is_open(5, 1));
}

TEST_F(GangMembers, WhatAGangHasForgottenItDoesNotWaitFor) {
  gang_gives_way_on(0);
  ASSERT_TRUE(node.is_open(1, 0));
  node.step(PolicySet{GpuId{0}, {Mode::serial, Duration::from_ms(20), Duration::from_s(100)}});
  node.want(9, 1);
  EXPECT_FALSE(node.is_open(9, 1));
  node.pass(kGangMemory + Duration::from_ns(1));
  EXPECT_TRUE(node.is_open(9, 1));
}

// Tenant 1 is alive, but does not get done with its work on GPU 0.
TEST_F(GangMembers, AReservationDoesNotOutlastTheMemoryOfAGpu) {
  gang_gives_way_on(0);
  node.pass_ms(20);
  node.want(9, 1);
  ASSERT_TRUE(node.is_closing(1, 0));
  for (Duration slept; slept < kGangMemory; slept += kSilenceMax / 2) {
    EXPECT_FALSE(node.is_open(9, 1));
    node.pass(kSilenceMax / 2);
    node.still(1, 0);
  }
  EXPECT_TRUE(node.is_closing(1, 0));
  EXPECT_TRUE(node.is_open(9, 1));
}

// One of its GPUs is in serial mode, so the gang's windows are as long as a turn everywhere.
TEST_F(GangMembers, AGpuIsNotKeptForAWholeTurnWithoutUse) {
  node.step(PolicySet{GpuId{1}, {Mode::serial, Duration::from_ms(20), Duration::from_s(100)}});
  gang_wants();
  node.drained(9, 0);
  node.want(1, 0);
  node.pass(kGangMemory - Duration::from_ms(1));
  EXPECT_FALSE(node.is_open(1, 0));
  node.drained(9, 0);  // of the same window: nothing new
  node.pass_ms(1);
  EXPECT_TRUE(node.is_open(1, 0));
  EXPECT_TRUE(node.is_open(9, 1)) << "where it works it goes on";
}

TEST_F(GangMembers, AGpuThatIsUsedAgainIsKeptAnew) {
  node.step(PolicySet{GpuId{1}, {Mode::serial, Duration::from_ms(20), Duration::from_s(100)}});
  gang_wants();
  node.drained(9, 0);
  node.pass(kGangMemory - Duration::from_ms(1));
  node.want(9, 0);
  ASSERT_TRUE(node.is_open(9, 0));
  node.want(1, 0);
  node.pass_ms(100);
  node.drained(9, 0);
  node.pass(kGangMemory - Duration::from_ms(1));
  EXPECT_FALSE(node.is_open(1, 0));
  node.pass_ms(1);
  EXPECT_TRUE(node.is_open(1, 0));
}

// Gang 9 has given GPU 0 up and works on GPU 1. Gang 8 takes GPU 0 along with GPU 2.
TEST(GangMembersOnThreeGpus, WhereOneIsKeptAnotherGangTakesThatGpuAlone) {
  SimNode node(3);
  for (int client : {2, 8, 9}) node.join(client, client);
  node.want(2, 2);
  node.pass_ms(10);
  node.want(9, 0);
  node.want(9, 1);
  node.drained(9, 0);
  node.want(8, 2);
  node.want(8, 0);
  node.pass_ms(11);
  ASSERT_TRUE(node.is_closing(2, 2));
  EXPECT_TRUE(node.is_open(9, 1));
  node.drained(2, 2);
  EXPECT_TRUE(node.is_open(8, 0));
}

// Tenant 1 has nothing to do on GPU 2 by the time when GPU 1 is owed to its class. High gang 9 goes
// from there, and does not come back before it.
TEST(GangMembersOnThreeGpus, AGangGivesWayToOneThatNeedsTheGpuAloneByNow) {
  SimNode node(3);
  node.join(9, 9, Priority::high);
  node.join(1, 1);
  node.want(9, 0);
  node.want(9, 1);
  node.want(1, 2);
  node.want(1, 1);
  node.idle(1, 2);
  node.pass_ms(121);
  ASSERT_TRUE(node.is_closing(9, 1));
  node.drained(9, 0, true);
  node.drained(9, 1, true);
  EXPECT_TRUE(node.is_open(1, 1));
}

TEST(GangMembersOnThreeGpus, AGpuThatALeftMemberWantedIsFreeForOthers) {
  SimNode node(3);
  for (int client : {1, 2, 3}) node.join(client, client);
  node.join(8, 9);
  node.join(9, 9);
  node.want(1, 0);
  node.pass_ms(20);
  node.want(9, 1);
  node.want(9, 2);
  node.pass_ms(20);
  node.want(8, 0);
  ASSERT_TRUE(node.is_closing(1, 0));
  node.drained(9, 1);
  node.want(9, 1);
  node.want(2, 1);
  node.want(3, 2);
  node.leave(9);
  node.drained(1, 0);
  EXPECT_TRUE(node.is_open(8, 0));
  EXPECT_TRUE(node.is_open(2, 1));
  EXPECT_TRUE(node.is_open(3, 2));
}

TEST_F(GangMembers, LeaveWithAllTheirGpus) {
  gang_wants();
  node.want(1, 0);
  node.want(2, 1);
  node.leave(9);
  EXPECT_TRUE(node.is_open(1, 0));
  EXPECT_TRUE(node.is_open(2, 1));
}

TEST_F(GangMembers, KeepTheirPlaceWhereTheyGaveUpWhileTheyWorkElsewhere) {
  gang_wants();
  node.want(1, 0);
  node.drained(9, 0);
  EXPECT_FALSE(node.is_open(1, 0));
  node.want(9, 0);
  EXPECT_TRUE(node.is_open(9, 0));
  node.drained(9, 0);
  node.leave(1);
  EXPECT_EQ(node.view().gpus[0].holder, TenantId{9});
  node.drained(9, 1);
  EXPECT_EQ(node.view().gpus[0].holder, std::nullopt) << "there is no work that it is kept for";
}

TEST_F(GangMembers, KeepAPlaceThatTheyGaveUpNoLongerThanTheirWindow) {
  node.step(PrioritySet{TenantId{1}, Priority::low});
  node.want(9, 0);
  node.want(9, 1);
  node.want(1, 0);
  node.drained(9, 0);
  node.pass_ms(19);
  EXPECT_FALSE(node.is_open(1, 0));
  node.pass_ms(1);
  EXPECT_TRUE(node.is_open(1, 0));
  EXPECT_TRUE(node.is_open(9, 1)) << "nobody waits for that one";
}

TEST_F(GangMembers, KeepNoPlaceForAClientThatLeft) {
  node.join(8, 9);
  node.want(8, 0);
  node.want(9, 1);
  node.want(1, 0);
  node.leave(8);
  EXPECT_TRUE(node.is_open(1, 0));
  EXPECT_TRUE(node.is_open(9, 1));
}

TEST_F(GangMembers, DoNotKeepAPlaceFromOneWhoseGateIsOpenAlready) {
  gang_wants();
  node.want(2, 0);
  node.drained(9, 0);
  node.found_open(1, 0);
  node.want(9, 0);
  EXPECT_FALSE(node.is_open(9, 0));
  EXPECT_EQ(node.view().gpus[0].holder, TenantId{1});
}

// It refused on GPU 0: there it runs beside the others, and needs no window.
TEST_F(GangMembers, WhatAGangLostForGoodItDoesNotWaitFor) {
  node.want(1, 1);
  node.want(9, 0);
  node.pass_ms(5);
  node.want(2, 0);
  node.want(9, 1);
  node.pass_ms(17);
  ASSERT_TRUE(node.is_closing(9, 0));
  ASSERT_TRUE(node.is_open(1, 1));
  node.refused(9, 0);
  EXPECT_TRUE(node.is_closing(1, 1));
}

TEST_F(GangMembers, AGpuWithoutWindowsIsNoPartOfThem) {
  node.want(1, 0);
  gang_wants();
  ASSERT_FALSE(node.is_open(9, 1));
  node.step(PolicySet{GpuId{0}, {Mode::concurrent, Duration::from_ms(20), std::nullopt}});
  EXPECT_TRUE(node.is_open(9, 0));
  EXPECT_TRUE(node.is_open(9, 1));
}

TEST_F(GangMembers, AMemberThatItLostInMidWorkComesBackWithTheOthers) {
  gang_gives_way_on(1);
  ASSERT_TRUE(node.is_open(1, 1));
  node.want(9, 1);
  node.pass_ms(20);
  node.drained(1, 1);
  EXPECT_TRUE(node.is_open(9, 0)) << "although it does not want this one yet";
  EXPECT_TRUE(node.is_open(9, 1));
}

TEST_F(GangMembers, AMemberIsForgottenAfterAWhile) {
  gang_gives_way_on(1);
  node.pass(kGangMemory + Duration::from_ms(1));
  node.want(9, 1);
  node.drained(1, 1);
  EXPECT_FALSE(node.is_open(9, 0));
  EXPECT_TRUE(node.is_open(9, 1));
}

}  // namespace
}  // namespace nvs::core
