// SPDX-License-Identifier: Apache-2.0
#include "os/event_loop.h"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/unix_socket.h"

namespace nvs::os {
namespace {

class EventLoopTest : public ::testing::Test {
 protected:
  // A descriptor that is readable from the start.
  static UniqueFd ready() { return UniqueFd{::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)}; }
  void round() { ASSERT_TRUE(loop_.run_round(std::nullopt)); }

  EventLoop loop_ = *EventLoop::create();
  std::string calls_;
};

TEST_F(EventLoopTest, CallsWhatIsReadyForAsLongAsItIs) {
  const UniqueFd first = ready();
  const UniqueFd silent{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  ASSERT_TRUE(loop_.add(first.get(), EPOLLIN, [&](std::uint32_t events) {
    calls_ += (events & EPOLLIN) != 0 ? 'a' : '?';
  }));
  ASSERT_TRUE(loop_.add(silent.get(), EPOLLIN, [&](std::uint32_t) { calls_ += 'b'; }));
  round();
  round();
  EXPECT_EQ(calls_, "aa");
}

TEST_F(EventLoopTest, WhatIsRemovedIsNotCalledEvenIfItWasReady) {
  const UniqueFd first = ready();
  const UniqueFd second = ready();
  const auto remove_both = [&](std::uint32_t) {
    calls_ += 'x';
    loop_.remove(first.get());
    loop_.remove(second.get());
    calls_ += 'y';  // what the callback holds is still there
  };
  ASSERT_TRUE(loop_.add(first.get(), EPOLLIN, remove_both));
  ASSERT_TRUE(loop_.add(second.get(), EPOLLIN, remove_both));
  round();
  ASSERT_TRUE(loop_.run_round(loop_.now()));
  EXPECT_EQ(calls_, "xy");
}

TEST_F(EventLoopTest, ANumberUsedAgainInTheSameRoundIsNotMistaken) {
  UniqueFd first = ready();
  UniqueFd second = ready();
  const int number = second.get();
  ASSERT_TRUE(loop_.add(first.get(), EPOLLIN, [&](std::uint32_t) {
    calls_ += '1';
    loop_.remove(first.get());
    loop_.remove(number);
    second.reset();
    second = UniqueFd{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    ASSERT_EQ(second.get(), number);
    ASSERT_TRUE(loop_.add(number, EPOLLIN, [&](std::uint32_t) { calls_ += 'n'; }));
  }));
  ASSERT_TRUE(loop_.add(number, EPOLLIN, [&](std::uint32_t) { calls_ += 'o'; }));
  round();
  EXPECT_EQ(calls_, "1");
}

TEST_F(EventLoopTest, ChangesWhatIsWaitedFor) {
  const SocketPair pair = *make_pair(SocketKind::packets);
  ASSERT_TRUE(loop_.add(pair.a.get(), EPOLLIN, [&](std::uint32_t events) {
    calls_ += (events & EPOLLOUT) != 0 ? 'o' : 'i';
  }));
  ASSERT_TRUE(loop_.change(pair.a.get(), EPOLLIN | EPOLLOUT));
  round();
  ASSERT_TRUE(loop_.change(pair.a.get(), EPOLLIN));
  ASSERT_TRUE(loop_.run_round(loop_.now()));
  EXPECT_EQ(calls_, "o");
}

TEST_F(EventLoopTest, WakesForADeadlineThatHasPassedAndOneThatComes) {
  const Instant before = monotonic_now();
  ASSERT_TRUE(loop_.run_round(before - Duration::from_s(5)));
  const Instant deadline = monotonic_now() + Duration::from_ms(2);
  ASSERT_TRUE(loop_.run_round(deadline));
  EXPECT_GE(loop_.now(), deadline);
}

TEST_F(EventLoopTest, TheSameDeadlineWakesAgain) {
  const Instant deadline = monotonic_now();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(loop_.run_round(deadline));
}

// Whoever is awake returns at once, long before its deadline; whoever sleeps returns after it.
TEST_F(EventLoopTest, StaysAwakeFromThenOnUntilThen) {
  const Instant start = monotonic_now();
  const Instant far = start + Duration::from_s(3600);
  loop_.stay_awake(1, start - Duration::from_ms(1), far);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(loop_.run_round(far));
    EXPECT_LT(loop_.now(), far);
  }
  ASSERT_TRUE(loop_.run_round(std::nullopt));
}

TEST_F(EventLoopTest, WakesWhenItIsToStayAwake) {
  const Instant from = monotonic_now() + Duration::from_ms(20);
  loop_.stay_awake(1, from, from + Duration::from_s(3600));
  ASSERT_TRUE(loop_.run_round(std::nullopt));
  EXPECT_GE(loop_.now(), from);
}

TEST_F(EventLoopTest, ADeadlineBeforeItStaysAwakeIsKept) {
  const Instant deadline = monotonic_now() + Duration::from_ms(5);
  const Instant from = deadline + Duration::from_s(3600);
  loop_.stay_awake(1, from, from + Duration::from_s(1));
  ASSERT_TRUE(loop_.run_round(deadline));
  EXPECT_GE(loop_.now(), deadline);
  EXPECT_LT(loop_.now(), from);
}

TEST_F(EventLoopTest, ServesWhatIsReadyWhileItIsAwake) {
  const Instant start = monotonic_now();
  loop_.stay_awake(1, start, start + Duration::from_s(3600));
  const UniqueFd fd = ready();
  ASSERT_TRUE(loop_.add(fd.get(), EPOLLIN, [&](std::uint32_t) { calls_ += 'a'; }));
  round();
  EXPECT_EQ(calls_, "a");
}

class SleepTest : public EventLoopTest {
 protected:
  // It returns after the deadline, since nothing keeps it awake.
  void expect_sleep() {
    const Instant deadline = monotonic_now() + Duration::from_ms(20);
    ASSERT_TRUE(loop_.run_round(deadline));
    EXPECT_GE(loop_.now(), deadline);
  }
  const Instant start_ = monotonic_now();
  const Instant far_ = start_ + Duration::from_s(3600);
};

TEST_F(SleepTest, WhatIsOverKeepsNobodyAwake) {
  loop_.stay_awake(1, start_ - Duration::from_ms(2), start_ - Duration::from_ms(1));
  expect_sleep();
}

TEST_F(SleepTest, SleepsWhenItMay) {
  loop_.stay_awake(1, start_, far_);
  loop_.may_sleep(1);
  loop_.may_sleep(7);  // of which nobody has heard
  expect_sleep();
}

TEST_F(SleepTest, ALaterSpanReplacesTheOneOfItsKey) {
  loop_.stay_awake(1, start_, far_);
  loop_.stay_awake(1, far_, far_ + Duration::from_s(1));
  expect_sleep();
}

TEST_F(SleepTest, EachKeyKeepsItAwake) {
  loop_.stay_awake(1, start_, far_);
  loop_.stay_awake(2, start_, far_);
  loop_.may_sleep(1);
  ASSERT_TRUE(loop_.run_round(far_));
  EXPECT_LT(loop_.now(), far_);
  loop_.may_sleep(2);
  expect_sleep();
}

TEST_F(EventLoopTest, SaysWhatCannotBeAdded) {
  const UniqueFd fd = ready();
  ASSERT_TRUE(loop_.add(fd.get(), EPOLLIN, [](std::uint32_t) {}));
  EXPECT_EQ(loop_.add(fd.get(), EPOLLIN, [](std::uint32_t) {}).error().sys, EEXIST);
  EXPECT_EQ(loop_.add(-1, EPOLLIN, [](std::uint32_t) {}).error().sys, EBADF);
  EXPECT_EQ(loop_.change(fd.get() + 1000, EPOLLIN).error().sys, ENOENT);
}

}  // namespace
}  // namespace nvs::os
