// SPDX-License-Identifier: Apache-2.0
// Caps where tenants take turns: they hold over a whole round, so that nobody sits in memory, or on
// the GPU, only to wait for its share.
#include <gtest/gtest.h>

#include "core/sim_memory.h"

namespace nvs::core {
namespace {

class ThrottledTurns : public MemoryTest {
 protected:
  void set_turn(Duration turn, Mode mode) {
    node.step(PolicySet{GpuId{0}, {mode, Duration::from_ms(20), turn}});
  }
  void two_work(std::uint64_t gib) {
    node.join(1, 1);
    node.join(2, 2);
    node.cap(1, 30);
    node.cap(2, 60);
    has(1, gib);
    2 * gib <= 16 ? has(2, gib) : has(2, 0, gib);
    node.saturate(1);
    node.saturate(2);
  }
  void expect_30_and_60() {
    pass_ms(10'000);
    const Duration first = node.used(1);
    const Duration second = node.used(2);
    pass_ms(60'000);
    EXPECT_NEAR((node.used(1) - first).seconds(), 18, 1.2);
    EXPECT_NEAR((node.used(2) - second).seconds(), 36, 1.2);
  }
};

TEST_F(ThrottledTurns, SerialOnesHaveTheirPartOfARound) {
  set_turn(Duration::from_s(1), Mode::serial);
  two_work(2);
  expect_30_and_60();
  EXPECT_LT(node.opened(1), 50) << "in few pieces";
}

TEST_F(ThrottledTurns, SoHaveThoseThatDoNotFit) {
  set_turn(Duration::from_s(5), Mode::automatic);
  two_work(12);
  expect_30_and_60();
  EXPECT_LE(turns(), 16U) << "nobody comes in more often than it would without a cap";
}

TEST_F(ThrottledTurns, WhoHasHadItsShareGivesItsPlaceUpAtOnce) {
  set_turn(Duration::from_ms(200), Mode::automatic);
  two_work(12);
  expect_30_and_60();
}

TEST_F(ThrottledTurns, WhoIsLeftAloneHasItsPartOfEachPeriodAtOnce) {
  set_turn(Duration::from_s(20), Mode::serial);
  two_work(2);
  pass_ms(30'000);
  while (node.seat(1).state != TenantState::throttled) pass_ms(1);
  const int windows = node.opened(1);
  leave(2);
  pass_ms(200);
  EXPECT_GT(node.opened(1), windows);
}

}  // namespace
}  // namespace nvs::core
