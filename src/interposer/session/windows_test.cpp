// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/windows.h"

#include <sys/wait.h>

#include "interposer/flow/flow.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/contexts.h"
#include "interposer/session/drain.h"
#include "interposer/session/test_session.h"

namespace nvs::interposer {
namespace {

using session::Phase;

class Windows : public SessionTest {
 protected:
  // Our window, in which no more is known than that something may run.
  static void open(std::uint64_t grant) {
    if (gpu().phase == Phase::unused) gpu().phase = Phase::closed;
    session::wanted[0] = true;
    session::open_window({.grant = grant});
  }
  // One that nobody asked for, or new terms.
  static void open_bounded(std::uint64_t grant) {
    if (gpu().phase == Phase::unused) gpu().phase = Phase::closed;
    session::open_window({.flags = wire::kBounded, .grant = grant, .queue_bound_ns = 2'000'000});
  }
  static void close(std::uint64_t grant) { session::close_window({.grant = grant}); }
};

TEST_F(Windows, AnEndThatDidNotFitIntoTheSocketIsToldLater) {
  open(7);
  close(7);
  fill_socket();
  complete_drain();
  session::tend();
  empty_socket();
  session::tend();
  expect_drained(7);
  session::tend();
  EXPECT_TRUE(heard_nothing());
}

TEST_F(Windows, WhatWasBilledMeanwhileIsTakenBack) {
  constexpr std::int64_t kSecond_ns = 1'000'000'000;
  open(7);
  close(7);
  fill_socket();
  complete_drain();
  gpu().untold_quiet_ns += kSecond_ns;
  gpu().untold_since_ns -= kSecond_ns;
  empty_socket();
  session::tend();
  const auto message = heard<wire::Drained>();
  ASSERT_TRUE(message);
  EXPECT_GE(message->quiet_ns, 2U * kSecond_ns);
}

TEST_F(Windows, AWindowThatNobodyAskedForWasNotWorkedIn) {
  open(7);
  gpu().account.begin(clock_ns() - 1'000'000'000, 0, false);
  close(7);
  complete_drain();
  expect_drained(7);
}

// Nobody looks at its work from then on.
TEST_F(Windows, WhoIsIdleWhenItsBoundIsLiftedCountsAsBusy) {
  open_bounded(7);
  EXPECT_TRUE(heard_nothing());
  session::open_window({.grant = 7});
  const auto busy = heard<wire::Busy>();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->grant, 7U);
  EXPECT_EQ(busy->since_ns, 0U);
  EXPECT_TRUE(gpu().account.is_billed());
  session::open_window({.grant = 7});
  session::tend();
  EXPECT_TRUE(heard_nothing()) << "once is enough";
}

TEST_F(Windows, SoDoesWhoGetsAWindowWithoutABoundUnasked) {
  gpu().phase = Phase::closed;
  session::open_window({.grant = 7});
  EXPECT_TRUE(heard<wire::Busy>());
  EXPECT_TRUE(gpu().account.is_billed());
}

TEST_F(Windows, ThatItCountsAsBusyIsToldLaterIfItDidNotFitIntoTheSocket) {
  open_bounded(7);
  fill_socket();
  session::open_window({.grant = 7});
  EXPECT_FALSE(gpu().account.is_billed());
  empty_socket();
  session::tend();
  EXPECT_TRUE(heard<wire::Busy>());
  open_bounded(8);
  fill_socket();
  session::open_window({.grant = 8});
  open_bounded(8);
  empty_socket();
  session::tend();
  EXPECT_FALSE(heard<wire::Busy>()) << "there is a bound again";
}

TEST_F(Windows, ARefusalThatDidNotFitIntoTheSocketIsToldLater) {
  open(7);
  close(7);
  fill_socket();
  session::refuse_to_close(0);
  empty_socket();
  session::tend();
  const auto refused = heard<wire::Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->grant, 7U);
  session::tend();
  EXPECT_TRUE(heard_nothing());
}

TEST_F(Windows, ADrainThatCannotBeCompletedIsRefused) {
  open(7);
  close(7);
  drain::impossible(0, gpu().drain.job + 1);  // an earlier one
  EXPECT_TRUE(heard_nothing());
  drain::impossible(0, gpu().drain.job);
  const auto refused = heard<wire::Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->grant, 7U);
  EXPECT_FALSE(gate::is_closed(0));
}

TEST_F(Windows, AProcessThatStoodStillRefusesNothing) {
  open(7);
  close(7);
  gpu().drain.progress_ns -= 1'000'000'000;
  gpu().drain.looked_ns -= 1'000'000'000;
  session::tend();
  EXPECT_TRUE(heard_nothing());
  gpu().drain.progress_ns -= 1'000'000'000;  // it ran, and the GPU got nowhere
  session::tend();
  EXPECT_TRUE(heard<wire::Refused>());
}

// In a process of its own, because the thread that drains stays.
TEST_F(Windows, NothingIsDrainedThatWasNotWaitedFor) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (std::intptr_t i = 1; i <= contexts::kContextsMax + 1; ++i) {
      contexts::created(reinterpret_cast<CUcontext>(i * 64), 0);
    }
    open(7);
    if (!drain::prepare(0)) ::_exit(2);
    close(7);
    while (heard_nothing()) os::sleep_ns(100'000);
    ::_exit(heard<wire::Refused>() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(Windows, AnEndThatANewerWindowMadeMootIsNotTold) {
  open(7);
  close(7);
  fill_socket();
  complete_drain();
  open(8);
  empty_socket();
  session::tend();
  close(8);
  complete_drain();
  expect_drained(8);
  session::tend();
  EXPECT_TRUE(heard_nothing());
}

TEST_F(Windows, NewTermsDoNotOpenWhatWasGivenBack) {
  open(7);
  session::give_up_window(0);
  complete_drain();
  expect_drained(7);
  open(7);
  EXPECT_EQ(gpu().phase, Phase::closed) << "they were under way";
  open(8);
  EXPECT_EQ(gpu().phase, Phase::open);
}

TEST_F(Windows, WhoeverIsLetInIsWaitedForBeforeTheDrain) {
  open(7);
  close(7);
  complete_drain();
  expect_drained(7);
  session::let_in({.grant = 8});
  EXPECT_TRUE(gate::may_let_in(0));
  ASSERT_NE(gpu().drain.waits_until_ns, 0);
  gpu().drain.waits_until_ns += 3'600'000'000'000;
  session::tend();
  EXPECT_EQ(gpu().drain.job, 0U) << "it would take the permit back";
  close(8);  // which is under way
  EXPECT_TRUE(heard_nothing());
  gpu().drain.waits_until_ns = 1;  // nobody came
  session::tend();
  EXPECT_NE(gpu().drain.job, 0U);
  gate::let_nobody_in(0);
  complete_drain();
  expect_drained(8);
}

TEST_F(Windows, NobodyIsLetInWhileOneOfOursHoldsAllBack) {
  open(7);
  close(7);
  session::held = 1;
  session::let_in({.grant = 8});
  EXPECT_FALSE(gate::may_let_in(0));
  session::held = 0;
  session::let_in({.grant = 8});
  EXPECT_TRUE(gate::may_let_in(0)) << "it is told again";
}

TEST_F(Windows, NobodyIsLetInForADrainThatIsDone) {
  open(7);
  close(7);
  complete_drain();
  expect_drained(7);
  session::let_in({.grant = 7});
  EXPECT_FALSE(gate::may_let_in(0));
  EXPECT_EQ(gpu().phase, session::Phase::closed);
}

TEST_F(Windows, WhatWasBilledIsToldToTheNextDaemon) {
  constexpr std::int64_t kSecond_ns = 1'000'000'000;
  // As if the daemon had billed us for longer.
  const auto bill_more = [](std::int64_t span_ns) {
    gpu().account.end(clock_ns());
    gpu().account.begin(clock_ns() - span_ns, flow::paused_ns(0), true);
  };
  open_bounded(7);
  EXPECT_FALSE(gpu().account.is_billed()) << "nobody had asked for it";
  close(7);
  complete_drain();
  open(8);
  ASSERT_TRUE(gpu().account.is_billed());
  bill_more(5 * kSecond_ns);
  close(8);
  complete_drain();
  EXPECT_FALSE(gpu().account.is_billed());
  open(9);
  bill_more(2 * kSecond_ns);
  empty_socket();
  EXPECT_TRUE(session::announce(0));
  const auto use = heard<wire::UseGpu>();
  ASSERT_TRUE(use);
  EXPECT_GE(use->used_ns, 7U * kSecond_ns);
  EXPECT_LT(use->used_ns, 3600U * kSecond_ns);
}

TEST_F(Windows, AStallThatDidNotFitIntoTheSocketIsToldLater) {
  open(7);
  close(7);
  gpu().drain.progress_ns -= 21'000'000;
  fill_socket();
  session::tend();
  empty_socket();
  session::tend();
  const auto stalled = heard<wire::Stalled>();
  ASSERT_TRUE(stalled);
  EXPECT_EQ(stalled->grant, 7U);
}

// Nobody else wants the GPU, and whoever is let in has more than its share.
TEST_F(Windows, AShareThatIsUsedUpIsPatientWithLongKernels) {
  open(7);
  constexpr std::uint32_t kAlone = wire::kBounded | wire::kCapped;
  session::open_window({.flags = kAlone, .grant = 7, .queue_bound_ns = 2'000'000});
  close(7);
  gpu().drain.progress_ns -= 200'000'000;
  session::tend();
  EXPECT_FALSE(heard<wire::Stalled>());
  gpu().drain.progress_ns -= 110'000'000;
  session::tend();
  EXPECT_TRUE(heard<wire::Stalled>());
  gpu().drain.progress_ns -= 1'000'000'000;
  session::tend();
  EXPECT_FALSE(heard<wire::Refused>());
  gpu().drain.progress_ns -= 1'000'000'000;
  session::tend();
  empty_socket();
  EXPECT_EQ(gpu().phase, Phase::open) << "it is refused in the end";
}

// One kernel for each that ends, and the queue would never be empty.
TEST_F(Windows, WhoeverIsLetInToAQueueThatNobodySeesIsFollowedEverMoreSeldom) {
  constexpr std::int64_t kLong_ns = 200'000'000;
  constexpr int kLetIn = 10;
  // As long as `quiet_ns` after somebody was let in: is the daemon told?
  const auto stalls = [&](std::int64_t quiet_ns) {
    gpu().drain.let_in -= 1;
    session::tend();
    empty_socket();
    gpu().drain.progress_ns -= quiet_ns;
    session::tend();
    return heard<wire::Stalled>().has_value();
  };
  open(7);
  close(7);
  for (int i = 0; i < kLetIn; ++i) stalls(2 * kLong_ns);
  EXPECT_FALSE(stalls(kLong_ns));
  EXPECT_TRUE(stalls(2 * kLong_ns));
  EXPECT_EQ(gpu().phase, Phase::draining) << "it is not refused either";
  open(8);
  open_bounded(8);
  close(8);
  for (int i = 0; i < kLetIn; ++i) stalls(2 * kLong_ns);
  EXPECT_FALSE(stalls(kLong_ns)) << "what was queued before the bound has no marks";
  complete_drain();
  open_bounded(9);
  close(9);
  for (int i = 0; i < kLetIn; ++i) stalls(2 * kLong_ns);
  EXPECT_TRUE(stalls(kLong_ns)) << "marks would show it";
}

TEST_F(Windows, WhatIsNotKnownOfTheTimeBeforeABoundIsNotCorrected) {
  constexpr std::int64_t kHour_ns = 3'600'000'000'000;
  open(7);
  gpu().account.begin(clock_ns() - kHour_ns, 0, false);
  open_bounded(7);
  const session::WorkSight works{false, 0, flow::paused_ns(0)};
  EXPECT_LT(gpu().account.next(clock_ns(), works).span_ns, kHour_ns / 2);
}

// Whether calls have to ask for room.
TEST_F(Windows, AGpuThatIsUsedFreelyCostsNothing) {
  open(7);
  open_bounded(7);
  EXPECT_TRUE(flow::is_bounded(0));
  EXPECT_NE(gate::word, 0U);
  session::gpu_known({.known = 0});
  EXPECT_FALSE(flow::is_bounded(0));
  EXPECT_EQ(gate::word, 0U);
}

// A daemon that is soon back must not wait until deep queues are worked off.
TEST_F(Windows, ABoundOutlivesTheDaemonForAWhile) {
  constexpr std::int64_t kWhile_ns = 10'000'000'000;
  open(7);
  open_bounded(7);
  const std::int64_t before_ns = clock_ns();
  session::open_alone(0);
  session::lift_old_bounds(before_ns + kWhile_ns - 1);
  EXPECT_TRUE(flow::is_bounded(0));
  EXPECT_NE(gate::word, 0U);
  session::lift_old_bounds(clock_ns() + kWhile_ns);
  EXPECT_FALSE(flow::is_bounded(0));
  EXPECT_EQ(gate::word, 0U);
}

TEST_F(Windows, TheNextDaemonsBoundIsNotOld) {
  open(7);
  open_bounded(7);
  session::open_alone(0);
  open_bounded(1);
  session::lift_old_bounds(clock_ns() + 3'600'000'000'000);
  EXPECT_TRUE(flow::is_bounded(0));
}

// One that lives and does not answer is noticed by whoever waits for it, at the gate or for room.
TEST_F(Windows, TheDaemonIsAskedForASignOfLifeWhileSomebodyWaits) {
  const auto is_asked = [this] {
    session::forget_daemon();
    empty_socket();
    session::tend();
    return heard<wire::Ping>().has_value();
  };
  open(7);
  EXPECT_FALSE(is_asked());
  swap::rooms[0].asked = 1;
  EXPECT_TRUE(is_asked());
  swap::rooms[0].asked = 0;
  EXPECT_FALSE(is_asked());
  gpu().phase = Phase::closed;
  session::wanted[0] = true;
  EXPECT_TRUE(is_asked());
}

TEST_F(Windows, AGuessGoneWrongDoesNotPutOffARefusal) {
  constexpr std::int64_t kHour_ns = 3'600'000'000'000;
  open(7);
  close(7);
  gpu().drain.expected_ns = kHour_ns;
  gpu().drain.progress_ns -= 4'000'000'000;
  session::tend();
  EXPECT_TRUE(heard<wire::Refused>());
}

}  // namespace
}  // namespace nvs::interposer
