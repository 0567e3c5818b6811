// SPDX-License-Identifier: Apache-2.0
// Who wakes up while another has the GPU, and when it gets it.
#include <gtest/gtest.h>

#include "core/policy.h"
#include "core/sim_node.h"

namespace nvs::core {
namespace {

const GpuPolicy kLongWindows{Mode::automatic, Duration::from_ms(80), {}};

// Of few parts or of many: what it is let ahead by is a span of its own time in either case.
TEST(Wakeups, TakeTheGpuWhateverTheWeights) {
  for (const int weight : {1, 10, 100, 667, 1000}) {
    for (const int other : {1, 100, 1000}) {
      SimNode node(1, kLongWindows);
      node.join(1, 1, Priority::normal, other);
      node.join(2, 2, Priority::normal, weight);
      node.saturate(1);
      for (const int slept_ms : {1'000, 40'000, 40}) {
        node.want(2);
        while (!node.is_open(2)) node.pass_ms(1);
        node.drained(2);
        node.pass_ms(slept_ms);
      }
      node.want(2);
      EXPECT_TRUE(node.is_closing(1)) << weight << " beside " << other;
    }
  }
}

// It is let ahead once, and not for as long as it likes.
TEST(Wakeups, HaveNoMoreThanTheirShareWhateverTheWeights) {
  for (const int weight : {1, 10, 100, 1000}) {
    SimNode node(1, kLongWindows);
    node.join(1, 1);
    node.join(2, 2, Priority::normal, weight);
    node.saturate(1);
    node.burst(2, 0, Duration::from_ms(2), Duration::from_ms(3));
    node.pass_ms(20'000);
    const double share = weight / (weight + 100.0);
    EXPECT_LT(node.used(2).seconds() / 20, share + 0.01) << weight;
  }
}

// A burst of its own, with nobody beside it, and a sleep after it.
void teach(SimNode& node, int client, Duration length) {
  for (int i = 0; i < 3; ++i) {
    node.want(client);
    node.pass(length);
    node.drained(client);
    node.pass_ms(200);
  }
}

TEST(Wakeups, AllThatWaitForABurstAreHeardWhenItTakesTooLong) {
  for (const bool second_leaves : {false, true}) {
    SimNode node(1, kLongWindows);
    for (const int client : {1, 2, 3}) node.join(client, client);
    for (const int client : {3, 2, 1}) teach(node, client, Duration::from_ms(8));
    node.want(1);
    node.pass_ms(2);
    node.want(2);
    node.want(3);
    ASSERT_TRUE(node.is_open(1)) << "it should be done in 6 ms";
    node.pass_ms(2);
    if (second_leaves) node.leave(2);
    node.pass_ms(6);
    ASSERT_TRUE(node.is_open(1));
    node.pass_ms(1);
    EXPECT_TRUE(node.is_closing(1)) << "10 ms are no burst of about 8";
  }
}

TEST(Wakeups, WhoWaitsForOneThatIsLoweredTakesTheGpu) {
  SimNode node(1, kLongWindows);
  node.join(1, 1, Priority::high);
  node.join(2, 2, Priority::low);
  node.join(3, 3);
  node.saturate(1);
  node.pass_ms(100);
  node.want(3);
  node.want(2);
  node.pass_ms(1);
  ASSERT_TRUE(node.is_open(1));
  node.step(PrioritySet{TenantId{1}, Priority::low});
  EXPECT_TRUE(node.is_closing(1)) << "tenant 3 is of a higher class by now";
  node.pass_ms(1);
  EXPECT_TRUE(node.is_open(3));
}

// A gang (9) begins to wait for GPU 1, where a single one (1) takes long to drain, and GPU 0 is
// free and kept for it.
class BesideAGangToBe : public testing::Test {
 protected:
  BesideAGangToBe() {
    for (const int client : {1, 9}) node.join(client, client);
    node.join(2, 2, Priority::high);
    node.join(3, 3);
    for (const int client : {2, 3}) teach(node, client, Duration::from_ms(1));
    node.saturate(1, 1, Duration::from_ms(15));
    node.pass_ms(100);
  }
  void gang_waits() {
    node.want(9, 1);
    node.want(9, 0);
    ASSERT_TRUE(node.is_closing(1, 1));
    ASSERT_FALSE(node.is_open(9, 0)) << "it is kept until the other GPU is free";
  }
  SimNode node{2, kLongWindows};
};

TEST_F(BesideAGangToBe, WhoeverWouldTakeItsWindowHasTheGpuAtOnce) {
  gang_waits();
  node.pass_ms(1);
  node.want(2, 0);
  EXPECT_TRUE(node.is_open(2, 0));
  node.pass_ms(30);
  ASSERT_TRUE(node.is_open(2, 0));
  EXPECT_TRUE(node.is_open(1, 1)) << "nobody waits for the other GPU in vain";
  node.drained(2, 0);
  node.pass_ms(80);
  EXPECT_TRUE(node.is_open(9, 0) && node.is_open(9, 1)) << "the gang has its turn after it";
}

TEST_F(BesideAGangToBe, OneThatWouldNotWaits) {
  gang_waits();
  node.pass_ms(1);
  node.join(4, 4);
  node.want(4, 0);
  EXPECT_FALSE(node.is_open(4, 0)) << "it is new, and not behind the gang";
  node.pass_ms(15);
  EXPECT_TRUE(node.is_open(9, 0) && node.is_open(9, 1));
}

}  // namespace
}  // namespace nvs::core
