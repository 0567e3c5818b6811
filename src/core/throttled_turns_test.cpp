// SPDX-License-Identifier: Apache-2.0
// Caps where tenants take turns: in memory they hold over a whole round, so that nobody sits there
// only to wait for its share; on the GPU alone over each period, as without turns.
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

// From the beginning, with turns of half a minute: nobody stands still to save for one.
TEST_F(ThrottledTurns, SerialOnesHaveTheirPartOfEachSecond) {
  set_turn(kSerialTurn, Mode::serial);
  two_work(2);
  for (int second = 1; second <= 60; ++second) {
    pass_ms(1000);
    EXPECT_NEAR(node.used(1).seconds(), 0.3 * second, 0.1);
    EXPECT_NEAR(node.used(2).seconds(), 0.6 * second, 0.1);
  }
}

TEST_F(ThrottledTurns, SerialOnesAreOwedWhatTurnsOfOthersKeptFromThem) {
  set_turn(Duration::from_s(10), Mode::serial);
  node.join(1, 1);
  node.join(2, 2);
  node.cap(1, 30);
  node.saturate(1);
  node.saturate(2);
  pass_ms(20'000);
  const Duration before = node.used(1);
  pass_ms(100'000);
  EXPECT_NEAR((node.used(1) - before).seconds(), 30, 4);
  EXPECT_LT(node.opened(1), 30) << "in turns of the other's length";
}

TEST_F(ThrottledTurns, ThoseThatDoNotFitHaveTheirPartOfARound) {
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
