// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/hand_over.h"

#include "interposer/flow/flow.h"
#include "interposer/flow/test_events.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/drain.h"
#include "interposer/session/memory.h"
#include "interposer/session/test_patience.h"
#include "interposer/session/test_session.h"
#include "interposer/session/windows.h"

namespace nvs::interposer {
namespace {

using session::Phase;

TEST(HandOver, IsDueAMomentBeforeTheEnd) {
  EXPECT_TRUE(session::hand_over(session::kHandOverLead_ns, 7).is_due);
  EXPECT_TRUE(session::hand_over(1, 7).is_due);
  const auto soon = session::hand_over(session::kHandOverLead_ns + 1, 7);
  EXPECT_FALSE(soon.is_due);
  EXPECT_EQ(soon.look_again_ns, 0) << "the rest is not slept through";
}

TEST(HandOver, SleepsUntilShortlyBefore) {
  const auto later = session::hand_over(1'000'000, 7);
  EXPECT_FALSE(later.is_due);
  EXPECT_EQ(later.look_again_ns,
            1'000'000 - session::kHandOverLead_ns - session::kHandOverAwake_ns);
}

TEST(HandOver, AnEndThatIsNotKnownIsWaitedFor) {
  const auto unknown = session::hand_over(0, 7);
  EXPECT_FALSE(unknown.is_due);
  EXPECT_EQ(unknown.look_again_ns, 7);
}

// Kernels of 1.7 ms, as they were measured with.
TEST(Patience, IsShortWhereToWaitForTheOtherOneIs) {
  for (const std::int64_t waits_ns : {0, 850'000, 1'250'000}) {
    const session::Patience patience = session::patience_for(waits_ns);
    EXPECT_EQ(patience.lets_go_ns, session::kLetGoAfter_ns);
    EXPECT_EQ(patience.closes_ns, session::kNextRequest_ns);
  }
}

TEST(Patience, GrowsWithWhatThoseWaitWhoComeTooLate) {
  const session::Patience patience = session::patience_for(10'000'000);
  EXPECT_EQ(patience.lets_go_ns, 10'000'000 / session::kPatienceOfWait);
  EXPECT_EQ(patience.closes_ns, patience.lets_go_ns);
}

TEST(Patience, EndsBeforeItCostsWhatToHandOverDoes) {
  const session::Patience patience = session::patience_for(3'600'000'000'000);
  EXPECT_EQ(patience.lets_go_ns, session::kPatienceMax_ns);
  EXPECT_EQ(patience.closes_ns, session::kPatienceMax_ns);
}

flow::FakeEvents& events = flow::fake_events;

// A window whose one kernel is complete when the test says so.
class HandedOver : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    flow::use_fake_events();
    gpu().phase = Phase::closed;
  }

  static bool is_all_done() { return session::ClosedGates(1).is_so(); }
  static constexpr std::uint32_t kShared = wire::kBounded | wire::kAwaited;
  static void open(std::uint64_t grant, std::uint32_t flags = kShared) {
    session::open_window({.flags = flags, .grant = grant, .queue_bound_ns = 2'000'000});
  }
  static void close(std::uint64_t grant) {
    session::close_window({.grant = grant});
    ASSERT_EQ(gpu().phase, Phase::draining);
  }
  static void hand_over() {
    const os::FutexGuard guard(session::lock);
    session::hand_over_window(0);
  }
  static void complete_drain_of_permit() {
    gate::let_nobody_in(0);
    complete_drain();
  }

  // Whether the end of a drain is among all that was told.
  bool is_told() const {
    bool told = false;
    while (!heard_nothing()) told = heard<wire::Drained>().has_value() || told;
    return told;
  }

  // A window with one kernel and its drain, after which our next window may come soon. The kernel
  // ends when it is thought to, or when its end was told. Whether that was told before.
  bool run_window(std::uint64_t grant, bool returns, std::uint32_t flags) {
    events.complete = false;
    open(grant, flags);
    EXPECT_TRUE(flow::count(0, nullptr, 1));
    flow::mark(0, nullptr);
    close(grant);
    empty_socket();
    if (returns) session::get_ready({.in_ns = 2'000'000});
    flow::Look look{};
    do {
      session::tend();
      EXPECT_TRUE(flow::look(0, look));
      knew_ends_ += look.ends_in_ns > 0 ? 1 : 0;
    } while (!session::is_handed_over(0) && look.remaining_ns > 0);
    const bool told = is_told();
    EXPECT_FALSE(is_all_done());
    events.complete = true;
    flow::emptied(0, flow::now(0));
    complete_drain();
    EXPECT_NE(is_told(), told) << "it is told once, sooner or later";
    EXPECT_TRUE(is_all_done());
    return told;
  }
  int knew_ends_ = 0;  // how often an end was foretold

  // Of several, since a thread may be kept from running just when it matters; and of more where
  // that is so again and again.
  template <class Condition>
  int told_early_until(Condition is_enough, bool returns, std::uint32_t flags = kShared) {
    const auto until = PatienceClock::now() + std::chrono::seconds(60);
    int told = 0;
    for (std::uint64_t grant = 1; grant <= 100 || !is_enough(told); ++grant) {
      if (PatienceClock::now() > until) break;
      told += run_window(grant, returns, flags) ? 1 : 0;
    }
    return told;
  }
  int told_early(bool returns, std::uint32_t flags = kShared) {
    return told_early_until([this](int) { return knew_ends_ > 0; }, returns, flags);
  }
};

TEST_F(HandedOver, ADrainWithAKnownEndIsToldBeforeIt) {
  EXPECT_GT(told_early_until([](int told) { return told > 0; }, true), 0);
}

TEST_F(HandedOver, OneAfterWhichOthersWorkForLongIsNot) {
  EXPECT_EQ(told_early(false), 0);
  EXPECT_GT(knew_ends_, 0);
}

TEST_F(HandedOver, WhatMayWaitForWorkElsewhereIsNotForetold) {
  session::gpus[1].phase = Phase::closed;
  EXPECT_EQ(told_early(true), 0);
  EXPECT_GT(knew_ends_, 0);
}

TEST_F(HandedOver, TimeThatIsCountedIsCountedToItsEnd) {
  EXPECT_EQ(told_early(true, kShared | wire::kCapped), 0);
  EXPECT_GT(knew_ends_, 0);
}

TEST_F(HandedOver, NothingMovesUntilItIsDone) {
  open(7);
  close(7);
  hand_over();
  expect_drained(7);
  EXPECT_FALSE(is_all_done());
  EXPECT_TRUE(gate::is_closed(0));
  const std::uint32_t before = swap::rooms[0].changes;
  complete_drain();
  EXPECT_TRUE(is_all_done());
  EXPECT_NE(swap::rooms[0].changes, before) << "what the daemon said meanwhile is looked at";
  EXPECT_TRUE(heard_nothing()) << "it was told already";
}

TEST_F(HandedOver, TheNextWindowMayComeBeforeTheEnd) {
  open(7);
  close(7);
  const std::uint32_t job = gpu().drain.job;
  hand_over();
  expect_drained(7);
  open(7);
  EXPECT_EQ(gpu().phase, Phase::draining) << "these terms were under way";
  open(8);
  EXPECT_EQ(gpu().phase, Phase::open);
  EXPECT_FALSE(gate::is_closed(0));
  EXPECT_TRUE(drain::completed(0, job, gate::let_in_so_far(0)));
  EXPECT_EQ(gpu().phase, Phase::open);
  EXPECT_TRUE(heard_nothing());
  close(8);
  complete_drain();
  empty_socket();
}

TEST_F(HandedOver, WhatDidNotFitIntoTheSocketIsToldLater) {
  open(7);
  close(7);
  fill_socket();
  hand_over();
  empty_socket();
  session::tend();
  expect_drained(7);
  complete_drain();
  session::tend();
  EXPECT_TRUE(heard_nothing());
}

TEST_F(HandedOver, ItCannotBeRefusedAnyMore) {
  open(7);
  close(7);
  hand_over();
  expect_drained(7);
  gpu().drain.progress_ns -= 3'600'000'000'000;
  session::tend();
  drain::impossible(0, gpu().drain.job);
  EXPECT_TRUE(heard_nothing());
  EXPECT_TRUE(gate::is_closed(0));
  EXPECT_FALSE(is_all_done());
}

TEST_F(HandedOver, OneIsLetInAndDrainedAnew) {
  open(7);
  close(7);
  hand_over();
  expect_drained(7);
  session::let_in({.grant = 8});
  EXPECT_TRUE(gate::may_let_in(0));
  gpu().drain.waits_until_ns = 1;  // nobody came
  session::tend();
  gate::let_nobody_in(0);
  complete_drain();
  expect_drained(8);
  EXPECT_TRUE(is_all_done());
}

// The program's pauses are long, and its kernels done when they were submitted.
class LetGo : public HandedOver {
 protected:
  void SetUp() override {
    HandedOver::SetUp();
    events.complete = true;
    flow::emptied(0, flow::now(0));
  }
  static flow::Look look() {
    flow::Look result{};
    EXPECT_TRUE(flow::look(0, result));
    return result;
  }
  // After which nothing has come in for a moment.
  static flow::Look quiet_look() {
    flow::Look result = look();
    while (result.quiet_ns < session::kLetGoAfter_ns) result = look();
    return result;
  }
  static bool may_let_go(const flow::Look& seen) {
    const os::FutexGuard guard(session::lock);
    return session::may_let_go(0, clock_ns(), seen);
  }
  static bool may_let_go() { return may_let_go(quiet_look()); }
  void open_and_work(std::uint64_t grant, std::uint32_t flags = kShared) {
    open(grant, flags);
    flow::emptied(0, flow::now(0));
    for (int i = 0; i < 6; ++i) {
      EXPECT_TRUE(look().done);
      os::sleep_ns(1'000'000);
      submit();
    }
    empty_socket();
  }
  static void submit() {
    EXPECT_TRUE(flow::count(0, nullptr, 1));
    flow::mark(0, nullptr);
  }
};

TEST_F(LetGo, ItIsToldWhileTheGateIsOpen) {
  open_and_work(7);
  ASSERT_TRUE(session::let_go_window(0, look()));
  EXPECT_TRUE(is_told());
  EXPECT_FALSE(gate::is_closed(0));
  EXPECT_FALSE(is_all_done());
  const std::uint32_t before = swap::rooms[0].changes;
  session::close_let_go(0, session::kNextRequest_ns);
  EXPECT_TRUE(gate::is_closed(0));
  EXPECT_TRUE(is_all_done());
  EXPECT_NE(swap::rooms[0].changes, before);
  EXPECT_FALSE(is_told()) << "once is enough";
}

TEST_F(LetGo, AndTheGateStaysOpenForAsLongAsIsSaid) {
  constexpr std::int64_t kOpen_ns = 1'000'000;
  open_and_work(7);
  ASSERT_TRUE(session::let_go_window(0, look()));
  const std::int64_t before_ns = clock_ns();
  session::close_let_go(0, kOpen_ns);
  EXPECT_GE(clock_ns() - before_ns, kOpen_ns);
  EXPECT_TRUE(gate::is_closed(0));
}

TEST_F(LetGo, WhoeverSleepsALotDoes) {
  open_and_work(7);
  quiet_look();
  session::tend();
  EXPECT_TRUE(is_told());
  EXPECT_TRUE(is_all_done());
}

TEST_F(LetGo, TheNextRequestHasAMoment) {
  open_and_work(7);
  flow::Look seen = quiet_look();
  seen.quiet_ns = session::kLetGoAfter_ns - 1;
  EXPECT_FALSE(may_let_go(seen));
  seen.quiet_ns = session::kLetGoAfter_ns;
  EXPECT_TRUE(may_let_go(seen));
}

TEST_F(LetGo, AndLongerWhereToComeTooLateIsDear) {
  open_and_work(7);
  flow::Look seen = quiet_look();
  seen.waits_ns = 10'000'000;
  const std::int64_t patience_ns = session::patience_for(seen.waits_ns).lets_go_ns;
  seen.quiet_ns = patience_ns - 1;
  EXPECT_FALSE(may_let_go(seen));
  seen.quiet_ns = patience_ns;
  EXPECT_TRUE(may_let_go(seen));
}

// A copy, and then at once a long graph: what was a pause was none.
TEST_F(LetGo, WhoseWorkComesInPiecesDoesNot) {
  open_and_work(7);
  EXPECT_TRUE(may_let_go());
  while (look().mostly_sleeps) submit();
  ASSERT_TRUE(look().sleeps_long);
  EXPECT_FALSE(may_let_go());
}

TEST_F(LetGo, WhatComesInMeanwhileIsWaitedFor) {
  open_and_work(7);
  ASSERT_TRUE(session::let_go_window(0, look()));
  EXPECT_TRUE(is_told());
  events.complete = false;
  submit();
  session::close_let_go(0, session::kNextRequest_ns);
  EXPECT_TRUE(gate::is_closed(0));
  EXPECT_TRUE(session::is_handed_over(0));
  EXPECT_FALSE(is_all_done());
  ASSERT_NE(gpu().drain.job, 0U) << "a thread waits for it";
  complete_drain();
  EXPECT_TRUE(is_all_done());
  EXPECT_FALSE(is_told());
}

TEST_F(LetGo, NotForAWhileAfterSomethingLongCameIn) {
  open_and_work(7);
  ASSERT_TRUE(session::let_go_window(0, look()));
  events.complete = false;
  EXPECT_TRUE(flow::count(0, nullptr, 99));  // of a kind that is not known
  flow::mark(0, nullptr);
  session::close_let_go(0, session::kNextRequest_ns);
  events.complete = true;
  complete_drain();
  ASSERT_NE(gpu().keeps_until_ns, 0);
  gpu().keeps_until_ns += 3'600'000'000'000;
  open_and_work(8);
  EXPECT_FALSE(may_let_go());
  gpu().keeps_until_ns = 0;
  EXPECT_TRUE(may_let_go());
}

TEST_F(LetGo, NobodyDoesWhoseTimeIsCountedForWhomNobodyWaitsOrWhoIsHeld) {
  open_and_work(7, kShared | wire::kCapped);
  EXPECT_FALSE(may_let_go());
  open_and_work(8, wire::kBounded);
  EXPECT_FALSE(may_let_go());
  open_and_work(9);
  EXPECT_TRUE(may_let_go());
  session::held = 1;  // one of ours has all others wait
  EXPECT_FALSE(may_let_go());
  session::held = 0;
}

// In catch-up, this only says that a window comes.
TEST_F(HandedOver, ADrainThatLetsSomebodyInIsWaitedFor) {
  open(7);
  close(7);
  session::let_in({.grant = 7});
  session::get_ready({.in_ns = 1'000'000});
  EXPECT_FALSE(gpu().drain.returns);
  complete_drain_of_permit();
  session::let_in({.grant = 8});
  gpu().drain.waits_until_ns = 1;  // nobody came
  session::tend();
  ASSERT_NE(gpu().drain.job, 0U);
  session::get_ready({.in_ns = 1'000'000});
  EXPECT_FALSE(gpu().drain.returns);
}

}  // namespace
}  // namespace nvs::interposer
