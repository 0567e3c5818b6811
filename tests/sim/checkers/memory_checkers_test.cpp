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

TEST(Faults, FindsWhatALostOneIsAllowed) {
  const auto begin = [] {
    core::MemoryHeld lost{core::ClientId{1}, core::GpuId{0}, 1};
    lost.fixed = 4;
    lost.is_faulted = true;
    return crowd(make_faults()).holds(1, 0, 4, 0, {allow(1, 1, 6)}).step(lost);
  };
  EXPECT_EQ(begin().tick({allow(1, 2, 6)}).tick({allow(1, 3, 0)}).complaint(), "");
  expect_complaint(begin().tick({allow(1, 2, 7)}), "more than before");
  expect_complaint(begin().tick({allow(1, 2, 0)}).tick({allow(1, 3, 1)}), "more than before");
  EXPECT_EQ(begin().holds(1, 1, 0, 0).tick({allow(1, 2, 7)}).complaint(), "");
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

// What it does not have to bring back does not make it longer.
TEST(TurnLength, CountsWhatIsNotBackYet) {
  const auto turn = [](std::uint64_t back, Duration lasted) {
    constexpr std::uint64_t kUnit = 100'000'000;  // at 16 GB/s, 8 of them take 50 ms
    History history = crowd(make_turn_length({}), 16 * kUnit);
    history.holds(1, 0, 12 * kUnit, 0, {allow(1, 1, 12 * kUnit)});
    history.holds(2, 0, 4 * kUnit, 8 * kUnit, {allow(2, 1, 4 * kUnit)});
    history.want(1).want(2).wait(ms(3000)).tick({allow(1, 2, 4 * kUnit)});
    history.holds(1, 2, 4 * kUnit, 8 * kUnit, {allow(2, 2, 12 * kUnit)});
    history.holds(2, 2, 12 * kUnit, 0);
    history.holds(1, 2, (4 + back) * kUnit, (8 - back) * kUnit);
    return history.wait(lasted).tick({allow(2, 3, 4 * kUnit)});
  };
  EXPECT_EQ(turn(0, ms(250)).complaint(), "");
  expect_complaint(turn(0, ms(249)), "instead of 250000 us");
  EXPECT_EQ(turn(4, ms(125)).complaint(), "");
  expect_complaint(turn(4, ms(124)), "instead of 125000 us");
  EXPECT_EQ(turn(8, ms(100)).complaint(), "");
  expect_complaint(turn(8, ms(99)), "instead of 100000 us");
}

// The first one is told to go when it has drained, some time after its window was ended.
class TurnAfterDrain : public testing::Test {
 protected:
  static History drain(Duration rested) {
    History history(make_turn_length({}), 1, {core::Mode::automatic, ms(20), ms(500)});
    history.step(core::CapacitySet{core::GpuId{0}, 16}).join(1).join(2);
    history.holds(1, 0, 12, 0, {allow(1, 1, 12)}).holds(2, 0, 12, 0, {allow(2, 1, 12)});
    history.want(2).want(1, {open(1, 1)}).wait(ms(3000)).tick({allow(2, 2, 4)});
    history.holds(2, 2, 4, 8, {allow(2, 3, 12)}).holds(2, 3, 12, 0).wait(ms(300));
    if (rested > Duration{}) history.idle(1, 1).wait(rested);
    return history.tick({close(1, 1)}).wait(ms(50));
  }
  static History goes(History history) {
    core::Drained drained{core::ClientId{1}, core::GpuId{0}, core::GrantId{1}};
    drained.waiting = true;
    return history.step(drained, {allow(1, 2, 4)});
  }
};

TEST_F(TurnAfterDrain, EndsWhenItWasDecided) {
  expect_complaint(goes(drain({})), "instead of 500000 us");
  const auto next = [](Duration lasted) {
    History history = goes(drain({}).wait(ms(150)));
    return history.holds(1, 2, 4, 8).wait(lasted).tick({allow(2, 4, 4)});
  };
  EXPECT_EQ(next(ms(300)).complaint(), "");
  expect_complaint(next(ms(299)), "instead of 500000 us");
}

TEST_F(TurnAfterDrain, IsNoneOfWhoHadNoWork) {
  EXPECT_EQ(goes(drain(core::kRestMin)).complaint(), "");
  expect_complaint(goes(drain(ms(1))), "instead of 500000 us");
}

TEST_F(TurnAfterDrain, IsNoneOfWhoHadNoWorkWhileItDrained) {
  const auto wants_after = [](Duration rested) {
    History history = drain(ms(1)).wait(rested - ms(51));
    return goes(history.want(1).wait(ms(10)));
  };
  EXPECT_EQ(wants_after(core::kRestMin).complaint(), "");
  expect_complaint(wants_after(core::kRestMin - ms(1)), "instead of 500000 us");
}

// It has to go, and is told so when what it was let in with is done.
TEST(NoGaps, WhoWasLetInMayHaveNoMemory) {
  const auto waits = [](const std::vector<core::Effect>& effects) {
    History history = crowd(make_no_gaps());
    history.holds(1, 0, 12, 0, {allow(1, 1, 12)}).holds(2, 0, 0, 12, {allow(2, 1, 0)});
    return history.want(1, effects);
  };
  EXPECT_EQ(waits({let_in(1, 1)}).complaint(), "");
  expect_complaint(waits({}), "which nobody holds");
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

// Of higher classes, that have turns one after the other, each for so long.
TEST(PassedOver, FindsWhoIsKeptFromItsMemory) {
  const auto passed = [](int turns, Duration each, core::Priority priority) {
    History history(make_passed_over({}), 1, {core::Mode::automatic, ms(20), ms(500)});
    history.step(core::CapacitySet{core::GpuId{0}, 16}).join(1);
    history.holds(1, 0, 0, 12, {allow(1, 1, 0)}).want(1);
    for (int client : {2, 3}) {
      history.join(client, client, priority);
      history.holds(client, 0, 0, 12, {allow(client, 1, 0)});
    }
    for (int grant = 1; grant <= turns; ++grant) {
      const int client = 2 + grant % 2;
      history.wait(each).holds(client, 1, 12, 0).want(client, {open(client, grant)});
      history.idle(client, grant, {close(client, grant)}).drained(client, grant);
      history.holds(client, 1, 0, 12);
    }
    return history;
  };
  EXPECT_EQ(passed(6, ms(500), core::Priority::high).complaint(), "");
  expect_complaint(passed(7, ms(500), core::Priority::high), "had turns of 3500000 us");
  EXPECT_EQ(passed(12, ms(250), core::Priority::high).complaint(), "") << "they count by length";
  expect_complaint(passed(13, ms(250), core::Priority::high), "tenant 1 waits for memory");
  expect_complaint(passed(7, ms(5000), core::Priority::high), "had turns of 3500000 us");
  EXPECT_EQ(passed(100, ms(500), core::Priority::normal).complaint(), "") << "of its own class";
}

}  // namespace
}  // namespace nvs::sim
