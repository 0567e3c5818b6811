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

}  // namespace
}  // namespace nvs::core
