// SPDX-License-Identifier: Apache-2.0
// Each checker, content with a good history and not with a bad one.
#include "tests/sim/checkers/checkers.h"

#include <gtest/gtest.h>

#include "tests/sim/checkers/history.h"

namespace nvs::sim {
namespace {

using core::ClientId;
using core::GpuId;
using core::GrantId;
using core::Priority;
using core::TenantId;

TEST(DepartedClients, FindsEffectsForTheGoneAndTheUnknown) {
  EXPECT_EQ(History(make_departed_clients()).join(1).want(1, {open(1, 1)}).complaint(), "");
  expect_complaint(History(make_departed_clients()).join(1).leave(1).tick({open(1, 1)}), "left");
  expect_complaint(History(make_departed_clients()).tick({open(7, 1)}), "never joined");
  expect_complaint(History(make_departed_clients()).join(1).tick({open(1, 1, {}, 3)}),
                   "never added");
}

History one_open() { return History(make_fresh_grants()).join(1).join(2).want(1, {open(1, 5)}); }

TEST(FreshGrants, FindsUsedGrantsAndWindowsThatAreOpenAlready) {
  EXPECT_EQ(one_open().want(2, {close(1, 5)}).drained(1, 5, {open(2, 6)}).complaint(), "");
  expect_complaint(one_open().tick({open(1, 6)}), "its window is open");
  expect_complaint(one_open().want(2, {open(2, 5)}), "used grant");
  expect_complaint(one_open().want(2, {close(1, 5), open(1, 6)}), "has not answered");
}

TEST(FreshGrants, FindsStaleGrantsAndWordsThatSayNothing) {
  expect_complaint(one_open().want(2, {close(1, 4)}), "stale");
  expect_complaint(one_open().want(2, {close(1, 5), close(1, 5)}), "not open");
  expect_complaint(one_open().want(2, {change(1, 4, kAwaited)}), "no such open window");
  expect_complaint(one_open().tick({change(1, 5, {})}), "its terms already");
  expect_complaint(one_open().tick({let_in(1, 5)}), "gate is open");
  expect_complaint(one_open().want(2, {let_in(2, 5)}), "used grant");
}

TEST(ExclusiveWindows, FindsTwoTenants) {
  const auto begin = [] {
    return History(make_exclusive_windows()).join(1).join(2).join(3, 1).want(1, {open(1, 1)});
  };
  EXPECT_EQ(begin().want(3, {open(3, 2)}).complaint(), "") << "same tenant";
  expect_complaint(begin().want(2, {open(2, 2)}), "has not drained");
  expect_complaint(begin().want(2, {close(1, 1), open(2, 2)}), "has not drained");
  EXPECT_EQ(begin().want(2, {close(1, 1)}).drained(1, 1, {open(2, 2)}).complaint(), "");
}

TEST(ExclusiveWindows, LeavesOutTheSilentAndTheLoose) {
  const auto closing = [] {
    History history(make_exclusive_windows());
    history.join(1).join(2).want(1, {open(1, 1)}).want(2, {close(1, 1)});
    return history;
  };
  expect_complaint(closing().wait(ms(299)).tick({open(2, 2)}), "has not drained");
  EXPECT_EQ(closing().wait(ms(300)).tick({open(2, 2)}).complaint(), "");
  EXPECT_EQ(closing()
                .step(core::DrainRefused{ClientId{1}, GpuId{0}, GrantId{1}}, {open(2, 2)})
                .complaint(),
            "");
}

TEST(ExclusiveWindows, FindsAnOverlapThatStays) {
  History history(make_exclusive_windows());
  history.join(1).join(2);
  history.step(core::FoundOpen{ClientId{1}, GpuId{0}}).step(core::FoundOpen{ClientId{2}, GpuId{0}});
  EXPECT_EQ(history.wait(ms(3080)).tick({}).complaint(), "") << "40 ms may be queued by each";
  expect_complaint(history.wait(ms(1)).tick({}), "stay open together");
}

TEST(NeedlessCloses, FindsACloseThatNobodyWaitsFor) {
  const auto begin = [] {
    return History(make_needless_closes()).join(1).join(2).want(1, {open(1, 1)});
  };
  EXPECT_EQ(begin().want(2, {close(1, 1)}).complaint(), "");
  EXPECT_EQ(begin().step(core::TenantPaused{TenantId{1}}, {close(1, 1)}).complaint(), "");
  EXPECT_EQ(begin().step(core::PolicySet{GpuId{0}, {}}, {close(1, 1)}).complaint(), "");
  expect_complaint(begin().tick({close(1, 1)}), "nobody else waits");
  expect_complaint(begin().step(core::TenantPaused{TenantId{2}}).want(2, {close(1, 1)}),
                   "nobody else waits");
}

TEST(NoGaps, FindsAFreeGpuAndAnIdleHolder) {
  const auto begin = [] { return History(make_no_gaps()).join(1).join(2); };
  EXPECT_EQ(begin().want(1, {open(1, 1)}).want(2).complaint(), "");
  expect_complaint(begin().want(1), "nobody holds");
  expect_complaint(begin().want(1, {open(1, 1)}).want(2, {close(1, 1)}).drained(1, 1),
                   "nobody holds");
  expect_complaint(begin().want(1, {open(1, 1)}).want(2).idle(1, 1), "holder is idle");
  EXPECT_EQ(begin().want(1, {open(1, 1)}).want(2).idle(1, 1, {close(1, 1)}).complaint(), "");
}

TEST(NoGaps, FindsAGpuThatIsKeptForOneThatDoesNotAnswerOrCannotDrain) {
  const auto closing = [] {
    History history(make_no_gaps());
    history.join(1).join(2).want(1, {open(1, 1)}).want(2, {close(1, 1)});
    return history;
  };
  EXPECT_EQ(closing().wait(ms(299)).tick({}).complaint(), "");
  expect_complaint(closing().wait(ms(300)).tick({}), "nobody holds");
  EXPECT_EQ(closing().wait(ms(300)).tick({open(2, 2)}).complaint(), "");
  expect_complaint(closing().step(core::DrainRefused{ClientId{1}, GpuId{0}, GrantId{1}}),
                   "nobody holds");
}

TEST(NoGaps, LetsOneThatPausesKeepATurnOfSerialModeForAMoment) {
  const auto begin = [](core::Mode mode) {
    return History(make_no_gaps(), 1, {mode, ms(20), ms(500)})
        .join(1)
        .join(2)
        .join(3, 3, Priority::high);
  };
  const auto pauses = [&](core::Mode mode, Duration after = ms(100)) {
    return begin(mode).want(1, {open(1, 1)}).want(2).wait(after).drained(1, 1);
  };
  EXPECT_EQ(pauses(core::Mode::serial).wait(ms(99)).tick({}).complaint(), "");
  expect_complaint(pauses(core::Mode::serial).wait(ms(100)).tick({}), "nobody holds");
  expect_complaint(pauses(core::Mode::serial).want(3), "nobody holds");
  expect_complaint(pauses(core::Mode::serial).leave(1), "nobody holds");
  expect_complaint(pauses(core::Mode::automatic), "nobody holds");
  // But not half of it.
  EXPECT_EQ(pauses(core::Mode::serial, ms(30)).wait(ms(39)).tick({}).complaint(), "");
  expect_complaint(pauses(core::Mode::serial, ms(30)).wait(ms(40)).tick({}), "nobody holds");
  // Nor does it have to give way in a turn that its class was owed.
  const auto owed = [&](Duration wait) {
    return begin(core::Mode::serial)
        .want(3, {open(3, 1)})
        .want(1)
        .wait(wait)
        .drained(3, 1, {open(1, 2)})
        .wait(ms(100))
        .want(3)
        .drained(1, 2);
  };
  EXPECT_EQ(owed(ms(2500)).complaint(), "");
  expect_complaint(owed(ms(2499)), "nobody holds");
}

TEST(NoGaps, WaitsForATickThatIsDueAndNoLonger) {
  History history(make_no_gaps());
  history.join(1).deadline(history.now());
  EXPECT_EQ(history.want(1).complaint(), "");
  expect_complaint(history.deadline(history.now() + ms(1)).tick({}), "nobody holds");
}

TEST(NoGaps, FindsAWaiterInConcurrentMode) {
  History history(make_no_gaps(), 1, {core::Mode::concurrent, ms(20), {}});
  expect_complaint(history.join(1).join(2).want(1, {open(1, 1)}).want(2), "concurrent");
}

TEST(Gangs, FindsAGangThatIsServedInParts) {
  const auto begin = [] {
    History history(make_gangs(), 2);
    history.join(1).join(2).want(2, {open(2, 1)});
    history.want(1, {}, 0).want(1, {}, 1).wait(ms(5000)).tick({close(2, 1)});
    return history;
  };
  EXPECT_EQ(begin().drained(2, 1, {open(1, 2), open(1, 3, {}, 1)}).complaint(), "");
  expect_complaint(begin().drained(2, 1, {open(1, 2)}), "but not gpu 1");
}

TEST(CatchUp, FindsAStallThatIsNotHelped) {
  const auto begin = [] {
    History history(make_catch_up(), 2);
    history.join(1, 1).join(2, 1).join(3, 3).want(1, {open(1, 1)}).want(2, {}, 1);
    history.want(3, {close(1, 1)});
    return history;
  };
  const core::DrainStalled stalled{ClientId{1}, GpuId{0}, GrantId{1}};
  EXPECT_EQ(begin().step(stalled, {let_in(2, 9, 1)}).complaint(), "");
  expect_complaint(begin().step(stalled), "is not let in");
  expect_complaint(begin().step(stalled, {let_in(2, 9, 1), let_in(3, 10)}), "waits for nothing");
  expect_complaint(begin().tick({let_in(2, 9, 1)}), "without a stalled drain");
}

TEST(CatchUp, FindsOneThatWasLetInTooLateAndIsNotHelped) {
  const auto begin = [] {
    History history(make_catch_up());
    history.join(1, 1).join(2, 1).join(3, 3).want(1, {open(1, 1)}).want(3, {close(1, 1)}).want(2);
    history.step(core::DrainStalled{ClientId{1}, GpuId{0}, GrantId{1}}, {let_in(2, 9)});
    history.drained(1, 1, {open(3, 10)}).want(1).want(2);
    return history;
  };
  const core::DrainStalled stalled{ClientId{2}, GpuId{0}, GrantId{9}};
  EXPECT_EQ(begin().step(stalled, {let_in(1, 11)}).complaint(), "");
  expect_complaint(begin().step(stalled), "is not let in");
  expect_complaint(begin().step(stalled, {let_in(1, 11), let_in(2, 12)}), "waits for nothing");
}

TEST(CatchUp, FindsAChainThatIsCutShortOrGoesOnForNothing) {
  const auto begin = [] {
    History history(make_catch_up());
    history.join(1, 1).join(2, 1).join(3, 3).want(1, {open(1, 1)}).want(3, {close(1, 1)}).want(2);
    history.step(core::DrainStalled{ClientId{1}, GpuId{0}, GrantId{1}}, {let_in(2, 9)});
    return history;
  };
  const core::Drained more{ClientId{2}, GpuId{0}, GrantId{9}, true};
  const core::Drained no_more{ClientId{2}, GpuId{0}, GrantId{9}, false};
  EXPECT_EQ(begin().step(more, {let_in(2, 10)}).complaint(), "");
  EXPECT_EQ(begin().step(no_more).complaint(), "");
  expect_complaint(begin().step(more), "is not let in");
  expect_complaint(begin().step(no_more, {let_in(2, 10)}), "without a stalled drain");
  expect_complaint(begin().drained(1, 1).step(more, {let_in(2, 10)}), "without a stalled drain");
}

TEST(FreshGrants, KnowsTheGateOfOneThatWasLetInAndCouldNotDrain) {
  History history(make_fresh_grants());
  history.join(1, 1).join(2, 1).join(3, 3).want(1, {open(1, 1)}).want(3, {close(1, 1)}).want(2);
  history.step(core::DrainStalled{ClientId{1}, GpuId{0}, GrantId{1}}, {let_in(2, 9)});
  history.step(core::DrainRefused{ClientId{2}, GpuId{0}, GrantId{9}});
  EXPECT_EQ(history.complaint(), "");
  expect_complaint(history.tick({open(2, 10)}), "its window is open");
}

TEST(Terms, FindsAHolderThatIsNotToldAndOneThatIsToldInVain) {
  const auto begin = [] { return History(make_terms()).join(1).join(2).want(1, {open(1, 1)}); };
  EXPECT_EQ(begin().want(2, {change(1, 1, kAwaited)}).complaint(), "");
  expect_complaint(begin().want(2), "not told that another");
  expect_complaint(begin().want(2, {change(1, 1, kAwaited)}).leave(2), "nobody does");
  History free(make_terms(), 1, {core::Mode::concurrent, ms(20), {}});
  expect_complaint(free.join(1).want(1, {open(1, 1, {core::kQueueBound, false})}), "concurrent");
}

History classes() {
  History history(make_priorities());
  history.join(1, 1, Priority::high).join(2, 2, Priority::normal);
  return history.join(3, 3, Priority::high);
}

TEST(Priorities, FindsALowerClassThatIsServedFirst) {
  const auto both_wait = [] {
    return classes().want(3, {open(3, 1)}).want(2).want(1, {close(3, 1)});
  };
  EXPECT_EQ(both_wait().drained(3, 1, {open(1, 2)}).complaint(), "");
  expect_complaint(both_wait().drained(3, 1, {open(2, 2)}), "begins on gpu 0");
  // After 200 ms of waiting a fifth of it is owed to the class: two windows.
  EXPECT_EQ(both_wait().wait(ms(200)).drained(3, 1, {open(2, 2)}).complaint(), "");
}

TEST(Priorities, FindsAHolderThatDoesNotGiveWay) {
  EXPECT_EQ(classes().want(2, {open(2, 1)}).want(1, {close(2, 1)}).complaint(), "");
  expect_complaint(classes().want(2, {open(2, 1)}).want(1), "goes on");
  // It waited before the other was of a lower class, and says so again.
  const core::PrioritySet lower{TenantId{3}, Priority::low};
  EXPECT_EQ(classes().want(3, {open(3, 1)}).want(1).step(lower).want(1).complaint(), "");
}

// One second of slack, a window of the other's, one to catch up, and one of its own.
TEST(ServiceBound, FindsAWaiterThatIsForgotten) {
  History history(make_service_bound());
  history.join(1).join(2).want(1, {open(1, 1)}).want(2);
  EXPECT_EQ(history.wait(ms(1060)).tick({}).complaint(), "");
  expect_complaint(history.wait(ms(60)).tick({}), "has waited");
}

// Its window is a twentieth of the time, and it may wait for two of others.
TEST(ServiceBound, GivesALowClassMoreTimeBesideAHighOne) {
  History history(make_service_bound());
  history.join(1, 1, Priority::high).join(2, 2, Priority::low).want(1, {open(1, 1)}).want(2);
  EXPECT_EQ(history.wait(ms(1460)).tick({}).complaint(), "");
  expect_complaint(history.wait(ms(60)).tick({}), "has waited");
}

TEST(ServiceBound, GivesThoseMoreTimeWhoWaitForASlowDrain) {
  History history(make_service_bound());
  history.join(1).join(2).want(1, {open(1, 1)}).want(2, {close(1, 1)});
  history.wait(ms(200)).drained(1, 1);
  EXPECT_EQ(history.wait(ms(1300)).tick({}).complaint(), "") << "three pieces of 220 ms";
  expect_complaint(history.wait(ms(200)).tick({}), "has waited");
}

// Alone on GPU 0 it would wait for nobody, but it has to have both, and a higher class is on GPU 1.
TEST(ServiceBound, GivesAGangTheTimeUntilItIsOverdue) {
  History history(make_service_bound(), 2);
  history.join(1, 1, Priority::high).join(2, 2, Priority::low).want(1, {open(1, 1, {}, 1)}, 1);
  history.want(2, {}, 0).want(2, {}, 1);
  EXPECT_EQ(history.wait(ms(1460)).tick({}).complaint(), "");
  expect_complaint(history.wait(ms(60)).tick({}), "has waited");
}

// Two tenants take turns of these lengths for a while.
History turns(bool quiet, Duration first, Duration second, std::uint32_t weight) {
  History history(make_shares({quiet}));
  history.join(1).join(2, 2, Priority::normal, weight).want(1, {open(1, 1)}).want(2);
  for (int grant = 1; grant < 200; grant += 2) {
    history.wait(first).tick({close(1, grant)}).want(1).drained(1, grant, {open(2, grant + 1)});
    history.wait(second).tick({close(2, grant + 1)}).want(2);
    history.drained(2, grant + 1, {open(1, grant + 2)});
  }
  return history;
}

TEST(Shares, FindsUnequalSharesInAQuietRun) {
  EXPECT_EQ(turns(true, ms(20), ms(20), 100).end().complaint(), "");
  EXPECT_EQ(turns(true, ms(20), ms(60), 300).end().complaint(), "") << "by weight";
  EXPECT_EQ(turns(false, ms(20), ms(40), 100).end().complaint(), "") << "not quiet";
  expect_complaint(turns(true, ms(20), ms(24), 100).end(), "its share by weight");
  expect_complaint(turns(true, ms(20), ms(20), 300).end(), "its share by weight");
}

TEST(BusyLoop, FindsADeadlineInThePastAndTooManyTicks) {
  History past(make_busy_loop());
  expect_complaint(past.deadline(past.now()).tick({}), "has come already");
  History many(make_busy_loop());
  many.join(1);
  for (int n = 0; n < 300; ++n) many.wait(Duration::from_us(500)).tick({});
  EXPECT_EQ(many.complaint(), "");
  for (int n = 0; n < 1000; ++n) many.wait(Duration::from_us(500)).tick({});
  expect_complaint(many, "ticks in a second");
}

TEST(Bills, FindsABillThatIsTooHighOrTooLow) {
  const auto billed = [](Duration used) {
    core::NodeView view;
    view.tenants.push_back({TenantId{1}, Priority::normal, 100, false, {}, {}});
    view.tenants[0].gpus.push_back({});
    view.tenants[0].gpus[0].gpu = GpuId{0};
    view.tenants[0].gpus[0].used = used;
    return view;
  };
  const auto run = [] {
    History history(make_bills());
    history.join(1).want(1, {open(1, 1)}).wait(ms(30)).idle(1, 1).wait(ms(50)).want(1);
    return history.wait(ms(5)).tick({});
  };
  EXPECT_EQ(run().look_back(billed(ms(35))).complaint(), "");
  expect_complaint(run().look_back(billed(ms(36))), "is billed for 36000 us");
  expect_complaint(run().look_back(billed(ms(34))), "is billed for 34000 us");
  const auto beside = [&run] {
    History history = run();
    history.join(2).want(2, {close(1, 1)});
    return history.step(core::DrainRefused{ClientId{1}, GpuId{0}, GrantId{1}}).wait(ms(9)).tick({});
  };
  EXPECT_EQ(beside().look_back(billed(ms(44))).complaint(), "");
  expect_complaint(beside().look_back(billed(ms(34))), "is billed for 34000 us");
}

TEST(Books, FindsWhatIsLeftBehind) {
  EXPECT_EQ(History(make_books()).join(1).leave(1).end().complaint(), "");
  core::NodeView tenant;
  tenant.tenants.push_back({TenantId{4}, Priority::normal, 100, false, {}, {}});
  expect_complaint(History(make_books()).end(tenant), "tenant 4 is in the books");
  core::NodeView holder;
  holder.gpus.push_back({});
  holder.gpus[0].holder = TenantId{5};
  expect_complaint(History(make_books()).end(holder), "tenant 5 holds");
  core::NodeView waiter;
  waiter.gpus.push_back({});
  waiter.gpus[0].waiting = 1;
  expect_complaint(History(make_books()).end(waiter), "waits for gpu 0");
  History deadline(make_books());
  expect_complaint(deadline.deadline(deadline.now()).tick({}).end(), "a deadline is left");
}

}  // namespace
}  // namespace nvs::sim
