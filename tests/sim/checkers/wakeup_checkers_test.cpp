// SPDX-License-Identifier: Apache-2.0
// The checkers of who takes the GPU when it wakes, and of how long a queue it finds.
#include <gtest/gtest.h>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/history.h"

namespace nvs::sim {
namespace {

using core::ClientId;
using core::GpuId;
using core::GrantId;

// Tenant 2 has had a window, and tenant 1 has the GPU for a while when it wakes.
History after(Duration span) {
  History history(make_wakeups());
  history.join(1).join(2).want(2, {open(2, 1)}).wait(ms(1)).drained(2, 1);
  return history.want(1, {open(1, 2)}).wait(span);
}

TEST(Wakeups, FindsAHolderThatGoesOn) {
  EXPECT_EQ(after(ms(100)).want(2, {close(1, 2)}).complaint(), "");
  EXPECT_EQ(after(ms(30)).want(2).complaint(), "") << "it may not be far enough ahead";
  expect_complaint(after(ms(100)).want(2), "tenant 1 goes on");
}

TEST(Wakeups, SparesOneThatMayWorkInBursts) {
  const core::WentBusy busy{ClientId{1}, GpuId{0}, GrantId{2}};
  EXPECT_EQ(after(ms(100)).idle(1, 2).step(busy).want(2).complaint(), "");
}

TEST(Wakeups, KnowsNothingOfWhatWasBeforeAnotherOrder) {
  const core::WeightSet heavier{core::TenantId{1}, 500};
  EXPECT_EQ(after(ms(100)).step(heavier).want(2).complaint(), "");
}

const core::WindowTerms kLongQueue{ms(20) / core::kQueueBoundOfWindow, true};

TEST(QueueBounds, FindsQueuesThatAreNeitherShortNorLong) {
  const auto begin = [](core::WindowTerms terms) {
    return History(make_queue_bounds())
        .join(1)
        .join(2)
        .want(1, {open(1, 1)})
        .want(2, {change(1, 1, terms)});
  };
  EXPECT_EQ(begin(kAwaited).complaint(), "");
  expect_complaint(begin({ms(500), true}), "may queue 500000 us");
  expect_complaint(begin(kLongQueue), "tenant 2 is new");
}

// Both want the GPU all the time.
TEST(QueueBounds, FindsAShortQueueThatIsForNobodysSake) {
  const auto next = [](core::WindowTerms terms) {
    History history(make_queue_bounds());
    history.join(1).join(2).want(1, {open(1, 1)}).want(2, {change(1, 1, kAwaited)}).wait(ms(1100));
    history.tick({close(1, 1)});
    return history.step(core::Drained{ClientId{1}, GpuId{0}, GrantId{1}, true},
                        {open(2, 2, terms)});
  };
  EXPECT_EQ(next(kLongQueue).complaint(), "");
  expect_complaint(next(kAwaited), "nobody sleeps");
}

}  // namespace
}  // namespace nvs::sim
