// SPDX-License-Identifier: Apache-2.0
// The checkers of memory, each content with a good history and not with a bad one. GPUs have 16
// bytes here.
#include <gtest/gtest.h>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/history.h"

namespace nvs::sim {
namespace {

History crowd(std::unique_ptr<Checker> checker, std::uint64_t capacity = 16) {
  History history(std::move(checker));
  history.step(core::CapacitySet{core::GpuId{0}, capacity}).join(1).join(2);
  return history;
}

TEST(MemoryCapacity, FindsWhatIsPromisedTwice) {
  const auto begin = [] {
    History history = crowd(make_memory_capacity());
    return history.holds(1, 0, 4, 0, {allow(1, 1, 12)}).holds(2, 0, 2, 0, {allow(2, 1, 2)});
  };
  EXPECT_EQ(begin().tick({allow(2, 2, 4)}).complaint(), "");
  expect_complaint(begin().tick({allow(2, 2, 5)}), "all together 17");
  expect_complaint(begin().tick({allow(1, 2, 4), allow(2, 2, 12)}), "all together 24");
  EXPECT_EQ(begin().tick({allow(1, 2, 4)}).holds(1, 2, 4, 0, {allow(2, 2, 12)}).complaint(), "");
  expect_complaint(begin().tick({allow(2, 1, 2)}), "do not grow");
}

TEST(CompleteWindows, FindsWindowsWithoutAllMemory) {
  const auto begin = [] {
    return crowd(make_complete_windows()).holds(1, 0, 4, 2, {allow(1, 1, 6)});
  };
  expect_complaint(begin().want(1, {open(1, 1)}), "without all its memory");
  EXPECT_EQ(begin().holds(1, 1, 6, 0).want(1, {open(1, 1)}).complaint(), "");
  expect_complaint(begin().holds(1, 1, 6, 0, {allow(1, 2, 3)}).want(1, {open(1, 1)}),
                   "without all its memory");
  expect_complaint(begin().holds(1, 1, 6, 0).want(1, {open(1, 1)}).tick({allow(1, 2, 3)}),
                   "while its window is open");
}

TEST(NoNeedlessMoves, FindsAMoveWhereAllFit) {
  const auto begin = [](std::uint64_t other) {
    return crowd(make_no_needless_moves())
        .holds(1, 0, 8, 0, {allow(1, 1, 8)})
        .holds(2, 0, 0, other, {allow(2, 1, 0)});
  };
  EXPECT_EQ(begin(9).tick({allow(1, 2, 7)}).complaint(), "");
  expect_complaint(begin(8).tick({allow(1, 2, 7)}), "where all fit");
}

TEST(Leaves, FindsWhoIsNotBroughtBack) {
  const auto begin = [] {
    return crowd(make_leaves())
        .holds(1, 0, 10, 0, {allow(1, 1, 10)})
        .holds(2, 0, 6, 4, {allow(2, 1, 6)});
  };
  EXPECT_EQ(begin().complaint(), "");
  EXPECT_EQ(begin().step(core::ClientLeft{core::ClientId{1}}, {allow(2, 2, 10)}).complaint(), "");
  expect_complaint(begin().leave(1), "nothing is being taken back");
}

TEST(TurnLength, FindsATurnThatIsTooShort) {
  const auto two_turns = [](Duration turn, Duration lasted) {
    History history(make_turn_length({}), 1, {core::Mode::automatic, ms(20), turn});
    history.step(core::CapacitySet{core::GpuId{0}, 16}).join(1).join(2);
    history.holds(1, 0, 12, 0, {allow(1, 1, 12)}).holds(2, 0, 4, 8, {allow(2, 1, 4)});
    history.want(1).want(2).wait(ms(3000));
    history.tick({allow(1, 2, 4)}).holds(1, 2, 4, 8, {allow(2, 2, 12)}).holds(2, 2, 12, 0);
    return history.wait(lasted).tick({allow(2, 3, 4)});
  };
  EXPECT_EQ(two_turns(ms(500), ms(500)).complaint(), "");
  expect_complaint(two_turns(ms(500), ms(499)), "instead of 500000 us");
}

TEST(MemoryService, FindsWhoWaitsForEver) {
  const auto begin = [](std::uint64_t away) {
    History history(make_memory_service({}), 1, {core::Mode::automatic, ms(20), ms(500)});
    history.step(core::CapacitySet{core::GpuId{0}, 16}).join(1).join(2);
    history.holds(1, 0, 12, 0, {allow(1, 1, 12)}).holds(2, 0, 0, away, {allow(2, 1, 4)});
    return history.holds(1, 1, 12, 0).holds(2, 1, 4, away - 4).want(1, {open(1, 1)}).want(2);
  };
  EXPECT_EQ(begin(12).wait(ms(5000)).tick({}).complaint(), "");
  expect_complaint(begin(12).wait(ms(60'000)).tick({}), "for memory of gpu 0");
  EXPECT_EQ(begin(17).wait(ms(60'000)).tick({}).complaint(), "") << "it never fits";
}

}  // namespace
}  // namespace nvs::sim
