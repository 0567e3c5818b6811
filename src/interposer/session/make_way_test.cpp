// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/make_way.h"

#include "interposer/gate/slots.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/memory.h"
#include "interposer/session/test_session.h"
#include "interposer/session/windows.h"

namespace nvs::interposer {
namespace {

using session::Phase;
using session::Way;

constexpr int kOwner = 0;
constexpr int kUser = 1;

// A process whose memory has to leave one GPU, with a window open on another.
class MakeWay : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    session::gpus[kOwner].phase = Phase::closed;
    ASSERT_TRUE(gate::close(kOwner, 0));
    user().phase = Phase::closed;
    session::wanted[kUser] = true;
    session::open_window({.ordinal = kUser, .grant = 7});
    ASSERT_EQ(user().phase, Phase::open);
    gate::several.store(1);
  }

  static session::Gpu& user() { return session::gpus[kUser]; }
  static void user_copies() { swap::crossed(1U << kOwner, 1U << kUser); }
  // Nothing is told of memory that does not move, so it is asked for by its counters.
  static void must_go() {
    swap::rooms[kOwner].number = 1;
    swap::rooms[kOwner].backing = 100;
  }
  static bool may_leave() { return session::ClosedGates(session::Owner{kOwner}).is_so(); }
  static bool complete(drain::Certainty certainty) {
    return drain::completed(kUser, user().drain.job, gate::let_in_so_far(kUser), certainty);
  }
};

TEST_F(MakeWay, WhoDoesNotTouchTheMemoryIsLeftAlone) {
  EXPECT_TRUE(may_leave());
  EXPECT_EQ(session::make_way(kOwner), Way::clear);
  EXPECT_EQ(user().phase, Phase::open);
}

TEST_F(MakeWay, WhatWasClosedDuringACaptureIsWaitedForOnce) {
  session::Gpu& mine = session::gpus[kOwner];
  mine.phase = Phase::draining;
  mine.drain.job = 5;
  const std::uint32_t let_in = gate::let_in_so_far(kOwner);
  EXPECT_TRUE(drain::completed(kOwner, 5, let_in, drain::Certainty::marks));
  EXPECT_FALSE(may_leave());
  EXPECT_EQ(session::make_way(kOwner), Way::coming);
  drain::settled(kOwner, 4);  // of another window
  EXPECT_TRUE(drain::is_unsettled(kOwner, 5));
  drain::settled(kOwner, 5);
  EXPECT_FALSE(drain::is_unsettled(kOwner, 5));
  EXPECT_TRUE(may_leave());
  EXPECT_EQ(session::make_way(kOwner), Way::clear);
}

TEST_F(MakeWay, AGpuThatWasGivenCopiesIsWaitedFor) {
  user_copies();
  EXPECT_FALSE(may_leave());
  EXPECT_EQ(session::make_way(kOwner), Way::coming);
  EXPECT_EQ(user().phase, Phase::draining);
  EXPECT_TRUE(gate::is_closed(kUser));
  EXPECT_TRUE(complete(drain::Certainty::all));
  EXPECT_TRUE(may_leave());
  expect_drained(7);
  session::open_window({.ordinal = kUser, .grant = 8});
  EXPECT_EQ(user().phase, Phase::open) << "what is done is done";
  EXPECT_TRUE(may_leave());
}

TEST_F(MakeWay, MarksDoNotTellOfAllCopies) {
  user_copies();
  session::make_way(kOwner);
  EXPECT_TRUE(complete(drain::Certainty::marks));
  EXPECT_FALSE(may_leave());
  EXPECT_EQ(session::make_way(kOwner), Way::coming);
}

TEST_F(MakeWay, WhatWasNotAskedForIsAskedForLater) {
  user_copies();
  session::make_way(kOwner);
  session::close_window({.ordinal = kUser, .grant = 7});
  EXPECT_EQ(user().phase, Phase::draining);
  EXPECT_TRUE(complete(drain::Certainty::all));
  expect_drained(7);
  EXPECT_TRUE(heard_nothing()) << "one answer for both";
}

TEST_F(MakeWay, WhoDoesNotStandStillIsNotHeldUpAgainAndAgain) {
  user_copies();
  session::make_way(kOwner);
  session::refuse_to_close(kUser);
  EXPECT_FALSE(gate::is_closed(kUser));
  EXPECT_EQ(session::make_way(kOwner), Way::blocked);
  EXPECT_EQ(user().phase, Phase::open);
  // As late as that it may have been refused after the memory was given up on.
  user().keeps_way_until_ns += 2'000'000'000;
  EXPECT_LE(user().keeps_way_until_ns, clock_ns() + session::kStays_ns) << "it is tried again";
}

TEST_F(MakeWay, ACapturedCallInTheDriverIsInTheWayAndNotForEver) {
  std::atomic<std::uintptr_t>& mark = gate::captured_slot(*gate::take_slot()).inside;
  mark = 1;
  EXPECT_EQ(session::make_way(kOwner), Way::coming);
  session::gpus[kOwner].makes_way_since_ns = clock_ns() - 2'000'000'000;
  EXPECT_EQ(session::make_way(kOwner), Way::blocked);
  mark = 0;
  EXPECT_EQ(session::make_way(kOwner), Way::clear);
}

TEST_F(MakeWay, WhatIsInTheWayForLongIsNotWaitedFor) {
  user_copies();
  session::make_way(kOwner);
  session::Gpu& owner = session::gpus[kOwner];
  owner.makes_way_since_ns = clock_ns() - 2'000'000'000;
  EXPECT_EQ(session::make_way(kOwner), Way::blocked);
  owner.makes_way_since_ns = owner.way_looked_ns = clock_ns() - 2'000'000'000;
  EXPECT_EQ(session::make_way(kOwner), Way::coming) << "that was about something else";
}

TEST_F(MakeWay, AGpuThatNobodyWouldOpenAgainStaysOpen) {
  user_copies();
  user().phase = Phase::free;
  EXPECT_EQ(session::make_way(kOwner), Way::blocked);
  EXPECT_FALSE(gate::is_closed(kUser));
}

TEST_F(MakeWay, NothingIsDoneForAGpuThatRuns) {
  user_copies();
  session::gpus[kOwner].phase = Phase::open;
  EXPECT_EQ(session::make_way(kOwner), Way::clear);
  EXPECT_EQ(user().phase, Phase::open);
}

TEST_F(MakeWay, WhoReachesMemoryThatIsAwayWantsThatFirst) {
  swap::view_reaches(kOwner, kUser);
  EXPECT_EQ(session::make_way(kOwner), Way::coming);
  EXPECT_TRUE(complete(drain::Certainty::all));
  expect_drained(7);
  must_go();
  session::want(kUser);
  const auto first = heard<wire::Want>();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->ordinal, kOwner);
  const auto second = heard<wire::Want>();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->ordinal, kUser);
  session::open_window({.ordinal = kUser, .grant = 8});
  EXPECT_EQ(user().phase, Phase::closed);
  expect_drained(8);
  swap::rooms[kOwner].backing = 0;
  session::open_window({.ordinal = kUser, .grant = 9});
  EXPECT_EQ(user().phase, Phase::open);
}

TEST_F(MakeWay, TheDaemonHearsThatOthersReachTheMemory) {
  const auto is_reached = [this] {
    session::tell_holds(kOwner);
    const auto holds = heard<wire::Holds>();
    return holds && (holds->flags & wire::kReached) != 0;
  };
  session::announce(kOwner);
  empty_socket();
  session::memory_known(kOwner, true);
  EXPECT_FALSE(is_reached());
  swap::view_reaches(kOwner, kUser);
  EXPECT_TRUE(is_reached());
}

TEST_F(MakeWay, WithoutADaemonAGpuOpensWhenWhatItReachesHasCome) {
  swap::view_reaches(kOwner, kUser);
  session::make_way(kOwner);
  EXPECT_TRUE(complete(drain::Certainty::all));
  must_go();
  {
    const os::FutexGuard guard(session::lock);
    user().opens_alone = true;
  }
  // Whoever moves memory says so each time, and would be woken up by a change.
  const std::uint32_t changes = swap::rooms[kUser].changes;
  session::memory_rests();
  EXPECT_EQ(user().phase, Phase::closed);
  EXPECT_EQ(swap::rooms[kUser].changes, changes);
  swap::rooms[kOwner].number = 0;
  session::memory_rests();
  EXPECT_EQ(user().phase, Phase::open);
}

TEST_F(MakeWay, AGpuThatIsNotServedOpensForGoodWhenWhatItReachesHasCome) {
  swap::view_reaches(kOwner, kUser);
  session::make_way(kOwner);
  EXPECT_TRUE(complete(drain::Certainty::all));
  must_go();
  session::gpu_known({.ordinal = kUser, .known = 0});
  EXPECT_EQ(user().phase, Phase::closed);
  EXPECT_TRUE(gate::is_closed(kUser));
  swap::rooms[kOwner].number = 0;
  session::memory_is_complete(kOwner);
  EXPECT_EQ(user().phase, Phase::free);
  EXPECT_FALSE(gate::is_closed(kUser));
}

}  // namespace
}  // namespace nvs::interposer
