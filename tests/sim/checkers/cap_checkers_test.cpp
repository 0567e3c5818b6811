// SPDX-License-Identifier: Apache-2.0
// The checkers of caps can fail: what each of them must find, in histories written by hand.
#include <gtest/gtest.h>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/history.h"

namespace nvs::sim {
namespace {

using core::ClientId;
using core::GpuId;
using core::GrantId;
using core::TenantId;

constexpr core::Share kHalf = core::kWholeGpu / 2;
constexpr core::WindowTerms kCapped{core::kQueueBound, false, true};
constexpr RunTraits kQuiet{true, 0, 1, true};

// Tenant 1 has half of the GPU, and its window, and 50 ms saved.
History one_open(std::unique_ptr<Checker> checker) {
  History history(std::move(checker));
  history.join(1).step(core::CapSet{TenantId{1}, kHalf});
  return history.want(1, {open(1, 1, kCapped)});
}

core::NodeView saved(Duration credit, std::uint32_t caps) {
  core::NodeView view;
  view.gpus.push_back({});
  view.gpus[0].caps = caps;
  view.tenants.push_back({TenantId{1}, core::Priority::normal, 100, false, {}, {}});
  view.tenants[0].gpus.push_back({});
  view.tenants[0].gpus[0].cap = kHalf;
  view.tenants[0].gpus[0].credit = credit;
  return view;
}

TEST(Caps, FindsAWindowThatGoesOn) {
  EXPECT_EQ(one_open(make_caps()).wait(ms(100)).tick({close(1, 1)}).complaint(), "");
  EXPECT_EQ(one_open(make_caps()).wait(ms(99)).tick({}).complaint(), "");
  expect_complaint(one_open(make_caps()).wait(ms(101)).tick({}), "goes on on gpu 0");
}

TEST(Caps, FindsAWindowThatBeginsTooEarly) {
  const auto closed = [] {
    History history = one_open(make_caps());
    history.wait(ms(100)).tick({close(1, 1)}).wait(ms(10));
    return history.step(core::Drained{ClientId{1}, GpuId{0}, GrantId{1}, true});
  };
  // It owes 5 ms, and has to save 50.
  EXPECT_EQ(closed().wait(ms(110)).tick({open(1, 2, kCapped)}).complaint(), "");
  expect_complaint(closed().wait(ms(109)).tick({open(1, 2, kCapped)}), "it has had its share");
}

TEST(Caps, FindsWhatIsNotCharged) {
  EXPECT_EQ(one_open(make_caps()).wait(ms(50)).tick({}).look_back(saved(ms(25), kHalf)).complaint(),
            "");
  expect_complaint(one_open(make_caps()).wait(ms(50)).tick({}).look_back(saved(ms(26), kHalf)),
                   "is said to have saved 26000");
  expect_complaint(one_open(make_caps()).wait(ms(50)).tick({}).look_back(saved(ms(25), 0)),
                   "are said to add up to 0");
}

TEST(Caps, TakesBackWhatWasIdle) {
  History history = one_open(make_caps());
  history.wait(ms(50)).step(
      core::WentIdle{ClientId{1}, GpuId{0}, GrantId{1}, Duration::from_ms(20)});
  EXPECT_EQ(history.look_back(saved(ms(45), kHalf)).complaint(), "");
}

TEST(Caps, FindsMoreThanTheCapAllowsOverall) {
  History history = one_open(make_caps());
  // As if it paid nothing back: told to close in time, and opened again at once.
  for (int grant = 1; grant < 100 && history.complaint().empty(); ++grant) {
    history.wait(ms(90)).tick({close(1, grant)});
    history.step(core::Drained{ClientId{1}, GpuId{0}, GrantId(grant), true},
                 {open(1, grant + 1, kCapped)});
  }
  EXPECT_NE(history.complaint(), "");
}

// Tenant 1 has had its share, and wants more in the window of tenant 2, which ends early.
History ends_for_one_that_had_its_share(Duration silence) {
  History history = one_open(make_caps());
  history.join(2).wait(ms(100)).tick({close(1, 1)});
  if (silence > Duration{}) history.wait(core::kSilenceMax).tick({}).wait(silence).tick({});
  history.wait(ms(10)).drained(1, 1).want(2, {open(2, 2)});
  return history.wait(ms(5)).want(1).wait(ms(5)).tick({close(2, 2)});
}

TEST(Caps, FindsAWindowThatEndsForOneThatDidNotWakeUp) {
  expect_complaint(ends_for_one_that_had_its_share({}), "for nobody who woke up");
}

TEST(Caps, TakesOneThatMayHaveCreditForOneThatWokeUp) {
  EXPECT_EQ(ends_for_one_that_had_its_share(ms(500)).complaint(), "");
}

// It has wanted the GPU for longer than the window has lasted.
TEST(Caps, TakesOneThatIsResumedOrRaisedForOneThatWokeUp) {
  const auto ended = [](const core::Event& before, const core::Event& meanwhile) {
    History history(make_caps());
    history.join(1).join(2).step(core::CapSet{TenantId{1}, kHalf}).step(before).want(2);
    history.wait(ms(5)).want(1, {open(1, 1, kCapped)}).wait(ms(5)).step(meanwhile);
    return history.wait(ms(5)).tick({close(1, 1)}).complaint();
  };
  EXPECT_EQ(ended(core::TenantPaused{TenantId{2}}, core::TenantResumed{TenantId{2}}), "");
  EXPECT_EQ(ended(core::Tick{}, core::PrioritySet{TenantId{2}, core::Priority::high}), "");
  EXPECT_NE(ended(core::Tick{}, core::Tick{}), "");
}

// A deadline is late by a moment, and nothing is decided in between.
TEST(Caps, OneThatWentIdleIsJudgedByWhatItHasWhenItHasDrained) {
  const auto wants_again = [](Duration pause) {
    History history = one_open(make_caps());
    history.wait(ms(100) + Duration::from_us(10)).idle(1, 1).wait(pause).drained(1, 1);
    return history.wait(ms(1)).want(1, {open(1, 2, kCapped)});
  };
  EXPECT_EQ(wants_again(ms(1)).complaint(), "");
  expect_complaint(wants_again({}), "it has had its share");
}

TEST(Caps, OneThatIsSilentAndSaysThatItIsBusyMayHaveWorked) {
  History history(make_caps(), 1, {core::Mode::concurrent, ms(20), {}});
  history.join(1).step(core::CapSet{TenantId{1}, kHalf}).want(1, {open(1, 1, kCapped)});
  history.wait(ms(100)).tick({close(1, 1)}).idle(1, 1).wait(core::kSilenceMax).tick({});
  history.step(core::WentBusy{ClientId{1}, GpuId{0}, GrantId{1}});
  EXPECT_EQ(history.look_back(saved(ms(120), kHalf)).complaint(), "");
}

class Pair {
 public:
  explicit Pair(std::unique_ptr<Checker> checker, core::Share cap = kHalf)
      : history_(std::move(checker)) {
    history_.join(1).join(2);
    history_.step(core::CapSet{TenantId{1}, cap}).step(core::CapSet{TenantId{2}, cap});
    history_.want(1, {open(1, 1, kCapped)}).want(2);
  }
  // Both have work: of each 100 ms the first has so many, and after the second nobody for `free`.
  Pair& run(int first, Duration length, Duration free = {}) {
    for (const Instant end = history_.now() + length; history_.now() < end; grant_ += 2) {
      history_.wait(ms(first)).step(drained(1), {open(2, grant_ + 1, kCapped)});
      history_.wait(ms(100 - first) - free);
      if (free == Duration{}) {
        history_.step(drained(2), {open(1, grant_ + 2, kCapped)});
      } else {
        history_.step(drained(2)).wait(free).tick({open(1, grant_ + 2, kCapped)});
      }
    }
    return *this;
  }
  History& history() { return history_; }

 private:
  core::Event drained(int client) const {
    const auto grant = static_cast<GrantId>(grant_ + client - 1);
    return core::Drained{ClientId(client), GpuId{0}, grant, true};
  }
  History history_;
  int grant_ = 1;
};

TEST(CapsReached, FindsOneThatHasLessOrMore) {
  const auto judged = [](int percent) {
    return Pair(make_caps_reached(kQuiet))
        .run(percent, Duration::from_s(30))
        .history()
        .look_back({});
  };
  EXPECT_EQ(judged(50).complaint(), "");
  expect_complaint(judged(48), "tenant 1 had");
  expect_complaint(judged(52), "tenant 1 had");
}

TEST(CapsReached, AllowsForWhatChangesOfOthersCutOff) {
  Pair pair(make_caps_reached(kQuiet));
  pair.run(48, Duration::from_s(30));
  for (int times = 0; times < 8; ++times) pair.history().step(core::CapSet{TenantId{2}, kHalf});
  EXPECT_EQ(pair.history().look_back({}).complaint(), "");
}

TEST(CapsReached, FindsAGpuThatIsFree) {
  Pair pair(make_caps_reached(kQuiet));
  pair.run(50, Duration::from_s(30), ms(2));
  expect_complaint(pair.history().look_back({}), "gpu 0 was used for");
}

TEST(CapChanges, FindsOneThatIsNotRightAgain) {
  const auto judged = [](int percent) {
    Pair pair(make_cap_changes(kQuiet));
    pair.run(50, Duration::from_s(3));
    pair.history().step(core::CapSet{TenantId{1}, kHalf});
    return pair.run(percent, Duration::from_s(10)).history();
  };
  EXPECT_EQ(judged(50).complaint(), "");
  expect_complaint(judged(47), "had");
}

// Where each of them is still within what one alone may be off.
TEST(CapChanges, FindsTooLittleOrTooMuchOfAllTogether) {
  const auto judged = [](core::Share cap, int first, Duration free) {
    Pair pair(make_cap_changes(kQuiet), cap);
    return pair.run(first, Duration::from_s(9), free).history();
  };
  EXPECT_EQ(judged(kHalf, 50, {}).complaint(), "");
  expect_complaint(judged(kHalf, 49, ms(2)), "all together had");
  expect_complaint(judged(kHalf / 25 * 24, 50, {}), "all together had");
}

// What is billed until it has drained counts while it drains.
TEST(CapChanges, ADrainUnderWayIsNoneOfTheWindow) {
  const auto judged = [](const std::vector<core::Effect>& at_the_end) {
    History history = one_open(make_cap_changes(kQuiet));
    int grant = 1;
    for (; grant <= 30; ++grant) {
      history.wait(ms(100)).tick({close(1, grant)});
      history.step(core::Drained{ClientId{1}, GpuId{0}, GrantId(grant), true});
      history.wait(ms(100)).tick({open(1, grant + 1, kCapped)});
    }
    history.wait(ms(100)).tick(at_the_end).wait(ms(200));
    return history.step(core::StillDraining{ClientId{1}, GpuId{0}, GrantId(grant), {}});
  };
  EXPECT_EQ(judged({close(1, 31)}).complaint(), "");
  expect_complaint(judged({}), "had");
}

TEST(Books, FindsACapThatIsLeftBehind) {
  core::NodeView view;
  view.gpus.push_back({});
  view.gpus[0].caps = 1;
  expect_complaint(History(make_books()).end(view), "a cap of somebody who is gone");
}

TEST(Terms, FindsOneThatDoesNotKnowOfItsCap) {
  EXPECT_EQ(one_open(make_terms()).tick({}).complaint(), "");
  History untold(make_terms());
  untold.join(1).step(core::CapSet{TenantId{1}, kHalf}).want(1, {open(1, 1)});
  expect_complaint(untold, "is not told that it has a cap");
}

TEST(Terms, OneThatHasHadItsShareDoesNotWaitBeforeItHasDrained) {
  const auto drained = [](const std::vector<core::Effect>& effects) {
    History history(make_terms(), 2);
    history.join(1).join(2).step(core::CapSet{TenantId{1}, kHalf});
    history.want(1, {open(1, 1, kCapped, 1)}, 1).want(2, {open(2, 2)});
    history.wait(ms(100)).tick({close(1, 1, 1)}).want(1);
    history.step(core::WentIdle{ClientId{1}, GpuId{1}, GrantId{1}, ms(100)});
    EXPECT_EQ(history.complaint(), "") << "though it turned out that it has had nothing";
    return history.step(core::Drained{ClientId{1}, GpuId{1}, GrantId{1}}, effects);
  };
  EXPECT_EQ(drained({change(2, 2, kAwaited)}).complaint(), "");
  expect_complaint(drained({}), "is not told that another tenant waits");
}

TEST(NeedlessCloses, FindsAThrottledOneOnlyWhereThereIsCredit) {
  EXPECT_EQ(one_open(make_needless_closes()).wait(ms(100)).tick({close(1, 1)}).complaint(), "");
  expect_complaint(one_open(make_needless_closes()).wait(ms(90)).tick({close(1, 1)}),
                   "while nobody else waits");
}

TEST(NoGaps, AThrottledOneIsNotWaitedFor) {
  const auto drained = [] {
    History history = one_open(make_no_gaps());
    history.wait(ms(100)).tick({close(1, 1)}).wait(ms(10));
    return history.step(core::Drained{ClientId{1}, GpuId{0}, GrantId{1}, true});
  };
  EXPECT_EQ(drained().wait(ms(100)).tick({}).complaint(), "");
  expect_complaint(drained().wait(ms(111)).tick({}), "which nobody holds");
}

}  // namespace
}  // namespace nvs::sim
