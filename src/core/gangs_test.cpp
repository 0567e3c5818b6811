// SPDX-License-Identifier: Apache-2.0
// Tenants on several GPUs.
#include "core/gangs.h"

#include <gtest/gtest.h>

#include "core/two_gpus.h"

namespace nvs::core {
namespace {

class Gangs : public TwoGpus {};

TEST_F(Gangs, OpensOnAllGpusTogether) {
  let_singles_run();
  node.want(9, 0);
  EXPECT_TRUE(node.is_closing(1, 0));
  node.want(9, 1);
  EXPECT_TRUE(node.is_closing(2, 1));
  node.drained(1, 0);
  EXPECT_FALSE(node.is_open(9, 0)) << "the other GPU is not free yet";
  node.drained(2, 1);
  EXPECT_EQ(node.effects_text(),
            "open client=9 gpu=0 grant=3 bounded\nopen client=9 gpu=1 grant=4 bounded\n");
}

TEST_F(Gangs, ItsWindowEndsOnAllGpusTogether) {
  gang_wants();
  node.pass_ms(30);
  node.want(1, 1);
  EXPECT_EQ(node.effects_text(), "close client=9 gpu=0 grant=1\nclose client=9 gpu=1 grant=2\n");
}

TEST_F(Gangs, IsIdleOnlyIfIdleOnAll) {
  gang_wants();
  node.pass_ms(1);
  node.idle(9, 0);
  node.want(1, 0);
  EXPECT_TRUE(node.is_open(9, 0));
  node.idle(9, 1);
  EXPECT_TRUE(node.is_closing(9, 0));
  EXPECT_TRUE(node.is_closing(9, 1));
}

TEST_F(Gangs, AReservedGpuGoesToNobodyElseThatWouldNotTakeItAnyway) {
  node.join(3, 3);
  let_singles_run();
  gang_wants();
  node.drained(1, 0);
  node.want(3, 0);
  EXPECT_FALSE(node.is_open(3, 0));
  node.drained(2, 1);
  EXPECT_TRUE(node.is_open(9, 0));
}

TEST(GangsOnThreeGpus, AReservedGpuGoesToNoOtherGang) {
  SimNode node(3);
  for (int client : {1, 2, 3, 8, 9}) node.join(client, client);
  for (int gpu = 0; gpu < 3; ++gpu) node.want(gpu + 1, gpu);
  node.pass_ms(20);
  node.want(8, 0);
  node.want(8, 1);
  node.want(9, 2);
  node.want(9, 1);
  node.drained(3, 2);
  EXPECT_FALSE(node.is_open(9, 2));
  node.drained(1, 0);
  node.drained(2, 1);
  EXPECT_TRUE(node.is_open(8, 0));
  EXPECT_TRUE(node.is_open(8, 1));
}

TEST_F(Gangs, PayForTheGpusThatTheyKeepOthersFrom) {
  node.want(1, 0);
  node.pass_ms(100);
  gang_wants();
  node.pass_ms(50);
  node.drained(1, 0);  // 50 ms ahead of the gang by now
  ASSERT_TRUE(node.is_open(9, 0));
  node.idle(9, 0);
  node.want(1, 0);
  node.pass_ms(100);
  EXPECT_TRUE(node.is_closing(9, 0)) << "although it worked on the other GPU alone";
}

// Gangs 1 and 2 hold a GPU each and want the other's; gang 3 comes after both. Gang 1 is the
// oldest: if the end of its own window kept it from starting, nobody ever would.
TEST_F(Gangs, OneWhoseWindowIsOverOnOneGpuGetsTheOthersInItsTurn) {
  node.join(3, 3, Priority::normal, 10);
  node.want(3, 0);
  node.want(3, 1);
  node.pass_ms(30);
  node.want(1, 0);
  node.pass_ms(1);
  node.want(2, 1);
  node.pass_ms(1);
  node.drained(3, 0);
  node.drained(3, 1);
  ASSERT_TRUE(node.is_open(1, 0));
  ASSERT_TRUE(node.is_open(2, 1));
  node.pass_ms(1);
  node.want(1, 1);
  node.want(2, 0);
  node.want(3, 0);
  node.want(3, 1);
  node.pass_ms(40);
  EXPECT_TRUE(node.is_closing(2, 1));
  EXPECT_TRUE(node.is_open(1, 0));
}

TEST_F(Gangs, TheirWindowEndsOnAGpuThatTheyHadBeforeToo) {
  node.want(9, 0);
  node.want(1, 1);
  node.pass_ms(20);
  node.want(9, 1);
  ASSERT_TRUE(node.is_closing(1, 1));
  node.want(2, 0);
  node.drained(1, 1);
  ASSERT_TRUE(node.is_open(9, 1));
  node.pass_ms(20);
  EXPECT_TRUE(node.is_closing(9, 0)) << "although nobody waits for the other one";
}

// On GPU 0 it comes before the low tenant for as long as it likes; that must not give it more of
// GPU 1, where somebody waits who comes before it.
TEST_F(Gangs, WhereTheyGoOnTheyDoNotKeepTheirOtherGpus) {
  node.step(PrioritySet{TenantId{1}, Priority::low});
  node.want(9, 0);
  node.want(9, 1);
  node.pass_ms(1);
  node.want(1, 0);
  node.want(2, 1);
  node.pass_ms(19);
  EXPECT_TRUE(node.is_closing(9, 1));
  EXPECT_TRUE(node.is_closing(9, 0));
}

TEST_F(Gangs, ShareWithATenantOnEachOfTheirGpus) {
  node.saturate(1, 0);
  node.saturate(2, 1, Duration::from_us(900));
  node.saturate(9, 0);
  node.saturate(9, 1);
  node.pass_ms(10'000);
  EXPECT_NEAR(node.used(9, 0).seconds() / 10, 0.5, 0.05);
  EXPECT_NEAR(node.used(1, 0).seconds() / 10, 0.5, 0.05);
  EXPECT_NEAR(node.used(2, 1).seconds() / 10, 0.5, 0.05);
}

// On GPU 0 the gang is alone and always first in line; that must not give it GPU 1 as well.
TEST_F(Gangs, ShareWithATenantOnOneOfTheirGpus) {
  node.saturate(9, 0);
  node.saturate(9, 1);
  node.saturate(1, 1);
  node.pass_ms(10'000);
  EXPECT_NEAR(node.used(1, 1).seconds() / 10, 0.5, 0.03);
  EXPECT_NEAR(node.used(9, 1).seconds() / 10, 0.5, 0.03);
}

// Each of them is first in line somewhere, and any two exclude each other.
TEST(GangShares, InARingTheyShareEquallyAndNoTimeIsLost) {
  SimNode node(3);
  for (int gang = 0; gang < 3; ++gang) {
    node.join(gang + 1, gang + 1);
    node.saturate(gang + 1, gang);
    node.saturate(gang + 1, (gang + 1) % 3);
  }
  node.pass_ms(10'000);
  Duration all;
  for (int gang = 0; gang < 3; ++gang) {
    const Duration used = node.used(gang + 1, gang);
    EXPECT_NEAR(used.seconds() / 10, 1.0 / 3, 0.02);
    all += used;
  }
  EXPECT_GT(all, Duration::from_ms(9'900));
}

TEST(GangShares, OnTheSameGpusTheyShareEqually) {
  SimNode node(4);
  for (int gang = 1; gang <= 3; ++gang) {
    node.join(gang, gang);
    for (int gpu = 0; gpu < 4; ++gpu) node.saturate(gang, gpu, Duration::from_us(100 * gang + gpu));
  }
  node.pass_ms(10'000);
  for (int gang = 1; gang <= 3; ++gang) {
    for (int gpu = 0; gpu < 4; ++gpu) {
      EXPECT_NEAR(node.used(gang, gpu).seconds() / 10, 1.0 / 3, 0.02);
    }
  }
}

// Turns of several GPUs that never end together must not keep a gang out.
TEST(GangShares, GetTheirShareBesideTenantsThatTakeTurnsOnEachGpu) {
  SimNode node(3);
  for (int gpu = 0; gpu < 3; ++gpu) {
    for (int i = 0; i < 3; ++i) {
      const int client = 10 * (gpu + 1) + i;
      node.join(client, client);
      node.saturate(client, gpu, Duration::from_us(100 + 300 * gpu));
    }
  }
  node.join(9, 9);
  for (int gpu = 0; gpu < 3; ++gpu) node.saturate(9, gpu);
  node.pass_ms(20'000);
  for (int gpu = 0; gpu < 3; ++gpu) {
    EXPECT_NEAR(node.used(9, gpu).seconds() / 20, 0.25, 0.04) << gpu;
  }
}

// The floor of its class is owed to it on each GPU, and never on all at the same moment's end.
TEST(GangShares, OfALowClassAreServedBesideHighTenants) {
  SimNode node(2);
  for (int client : {1, 2, 3, 4}) {
    node.join(client, client, Priority::high);
    node.saturate(client, client % 2, Duration::from_us(100 * client));
  }
  node.join(9, 9, Priority::normal);
  node.saturate(9, 0);
  node.saturate(9, 1);
  node.pass_ms(20'000);
  EXPECT_GT(node.used(9, 0).seconds() / 20, 0.12);
  EXPECT_GT(node.used(9, 1).seconds() / 20, 0.12);
}

// Gang 8 waits for its turn on GPU 1 most of the time. It is older, and comes first on GPU 0; but
// gang 9 does not wait for it there.
TEST(GangShares, OfOneBesideAnotherThatLacksAGpu) {
  SimNode node(3);
  for (const int client : {1, 8, 9}) node.join(client, client);
  for (int single = 20; single < 40; ++single) {
    node.join(single, single);
    node.saturate(single, 1);
  }
  node.saturate(1, 2);
  node.saturate(8, 0);
  node.saturate(8, 1);
  node.pass_ms(3);
  node.saturate(9, 0);
  node.saturate(9, 2);
  node.pass_ms(10'000);
  EXPECT_NEAR(node.used(9, 2).seconds() / 10, 0.5, 0.03);
  EXPECT_NEAR(node.used(1, 2).seconds() / 10, 0.5, 0.03);
  EXPECT_NEAR(node.used(8, 1).seconds() / 10, 1.0 / 21, 0.01);
}

TEST_F(Gangs, OneThatHoldsAGpuAndWantsAnotherWaitsThereInOrder) {
  node.want(9, 0);
  node.want(1, 1);
  node.pass_ms(5);
  node.want(9, 1);
  EXPECT_TRUE(node.is_open(9, 0));
  EXPECT_TRUE(node.is_open(1, 1));
  node.pass_ms(15);
  EXPECT_TRUE(node.is_closing(1, 1));
  EXPECT_TRUE(node.is_open(9, 0));
  node.drained(1, 1);
  EXPECT_EQ(node.effects_text(), "open client=9 gpu=1 grant=3 bounded\n");
}

TEST_F(Gangs, AStallOnOneGpuLetsInOnAnother) {
  node.want(9, 0);
  node.want(1, 1);
  node.pass_ms(20);
  node.want(2, 0);
  EXPECT_TRUE(node.is_closing(9, 0));
  node.want(9, 1);
  node.stalled(9, 0);
  EXPECT_EQ(node.effects_text(), "let_one_in client=9 gpu=1 grant=3\n");
}

// GPU 0 is drained for tenant 9 when that wants GPU 1 too, where it is not its turn yet.
TEST_F(Gangs, OneThatIsWaitedForAndBecomesAGangOpensNothingAlone) {
  let_singles_run();
  node.drained(2, 1);
  node.want(9, 1);
  node.pass_ms(300);
  node.idle(9, 1);
  node.want(2, 1);
  node.drained(9, 1);
  ASSERT_TRUE(node.is_open(2, 1));
  node.want(9, 0);
  ASSERT_TRUE(node.is_closing(1, 0));
  node.want(9, 1);
  node.drained(1, 0, true);
  EXPECT_FALSE(node.is_open(9, 0)) << "on the other GPU its turn comes later";
  node.pass_ms(20);
  node.drained(1, 0, true);
  node.drained(2, 1, true);
  EXPECT_TRUE(node.is_open(9, 0) && node.is_open(9, 1));
}

}  // namespace
}  // namespace nvs::core
