// SPDX-License-Identifier: Apache-2.0
#include "interposer/events/event_times.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::interposer::events {
namespace {

std::atomic<std::int64_t> now_ns{0};
std::int64_t read_now() { return now_ns; }
void pass_ms(int milliseconds) { now_ns += milliseconds * 1'000'000LL; }

CUevent event(std::uintptr_t number) { return reinterpret_cast<CUevent>(number << 8U); }

class EventTimesTest : public testing::Test {
 protected:
  void SetUp() override { now_ns = 1'000'000'000; }

  static void wait_ms(EventTimes& times, int gpu, int milliseconds) {
    times.begin_wait(gpu);
    pass_ms(milliseconds);
    times.end_wait(gpu);
  }
  static void record(EventTimes& times, CUevent which, int gpu = 0) {
    if (times.has_waited()) times.recorded(which, gpu, times.waited_ns(gpu));
  }

  CUevent start_ = event(1);
  CUevent end_ = event(2);
  EventTimes times_{&read_now};
};

TEST_F(EventTimesTest, AloneNothingIsTakenOff) {
  EXPECT_FALSE(times_.has_waited());
  EXPECT_EQ(times_.without_waits(12.5F, start_, end_), 12.5F);
}

TEST_F(EventTimesTest, TheWaitBetweenTwoRecordsIsTakenOff) {
  wait_ms(times_, 0, 7);
  EXPECT_TRUE(times_.has_waited());
  record(times_, start_);
  wait_ms(times_, 0, 30);
  wait_ms(times_, 0, 10);
  record(times_, end_);
  wait_ms(times_, 0, 5);
  EXPECT_FLOAT_EQ(times_.without_waits(42.5F, start_, end_), 2.5F);
  EXPECT_FLOAT_EQ(times_.without_waits(-42.5F, end_, start_), -2.5F);
  EXPECT_EQ(times_.without_waits(0, start_, start_), 0);
}

TEST_F(EventTimesTest, NeverMoreThanThereIs) {
  wait_ms(times_, 0, 1);
  record(times_, start_);
  wait_ms(times_, 0, 30);
  record(times_, end_);
  EXPECT_EQ(times_.without_waits(29, start_, end_), 0);
}

TEST_F(EventTimesTest, AnEventFromBeforeTheFirstWait) {
  record(times_, start_);
  wait_ms(times_, 0, 30);
  record(times_, end_);
  EXPECT_FLOAT_EQ(times_.without_waits(31, start_, end_), 1);
}

TEST_F(EventTimesTest, EventsThatAreRecordedDuringAWait) {
  times_.begin_wait(0);
  pass_ms(10);
  record(times_, start_);
  pass_ms(20);
  record(times_, end_);
  pass_ms(5);
  times_.end_wait(0);
  const CUevent later = event(3);
  record(times_, later);
  EXPECT_FLOAT_EQ(times_.without_waits(20, start_, end_), 0);
  EXPECT_FLOAT_EQ(times_.without_waits(26, start_, later), 1);
}

TEST_F(EventTimesTest, TheLatestRecordCounts) {
  wait_ms(times_, 0, 1);
  record(times_, start_);
  wait_ms(times_, 0, 30);
  record(times_, start_);
  wait_ms(times_, 0, 10);
  record(times_, end_);
  EXPECT_FLOAT_EQ(times_.without_waits(11, start_, end_), 1);
}

TEST_F(EventTimesTest, OnlyWhatIsCertainIsTakenOff) {
  wait_ms(times_, 0, 1);
  const std::int64_t before_ns = times_.waited_ns(0);
  wait_ms(times_, 0, 10);  // while the driver is inside the call
  times_.recorded(start_, 0, before_ns);
  times_.recorded(end_, 0, before_ns);
  const CUevent other = event(3);
  times_.recorded(other, 0, times_.waited_ns(0));
  EXPECT_EQ(times_.without_waits(11, start_, other), 11) << "it may have lain before the start";
  EXPECT_EQ(times_.without_waits(11, start_, end_), 11);
}

TEST_F(EventTimesTest, GpusHaveTheirOwnClocks) {
  wait_ms(times_, 0, 1);
  record(times_, start_, 1);
  wait_ms(times_, 0, 30);
  wait_ms(times_, 1, 4);
  record(times_, end_, 1);
  EXPECT_FLOAT_EQ(times_.without_waits(35, start_, end_), 31);
}

TEST_F(EventTimesTest, AFirstWaitThatNoEventSawIsForgotten) {
  times_.begin_first_wait(0);
  EXPECT_TRUE(times_.has_waited());
  pass_ms(30);
  const std::int64_t before_ns = times_.waited_ns(0);
  times_.end_wait(0);
  EXPECT_FALSE(times_.has_waited());
  times_.recorded(start_, 0, before_ns);  // it met the end
  wait_ms(times_, 0, 5);
  times_.recorded(end_, 0, before_ns);  // it met that end and another wait
  EXPECT_FLOAT_EQ(times_.without_waits(6, start_, end_), 1);
}

TEST_F(EventTimesTest, AFirstWaitThatAnEventSawIsNot) {
  times_.begin_first_wait(0);
  pass_ms(10);
  record(times_, start_);
  pass_ms(30);
  times_.end_wait(0);
  EXPECT_TRUE(times_.has_waited());
  record(times_, end_);
  EXPECT_FLOAT_EQ(times_.without_waits(31, start_, end_), 1);
}

TEST_F(EventTimesTest, AForgottenWaitOfOneGpuLeavesTheOthers) {
  wait_ms(times_, 0, 30);
  times_.begin_first_wait(1);
  pass_ms(30);
  times_.end_wait(1);
  EXPECT_TRUE(times_.has_waited());
  EXPECT_EQ(times_.waited_ns(0), 30'000'000);
  EXPECT_EQ(times_.waited_ns(1), 0);
}

TEST_F(EventTimesTest, AHandleThatComesBackIsAnotherEvent) {
  times_.given_to_graph(start_);
  wait_ms(times_, 0, 1);
  times_.destroyed(start_);
  record(times_, start_);
  wait_ms(times_, 0, 30);
  record(times_, end_);
  EXPECT_FLOAT_EQ(times_.without_waits(31, start_, end_), 1);
}

TEST_F(EventTimesTest, WhatNobodySawIsLeftAlone) {
  wait_ms(times_, 0, 1);
  times_.recorded_somewhere(start_);
  wait_ms(times_, 0, 30);
  record(times_, end_);
  EXPECT_EQ(times_.without_waits(31, start_, end_), 31);
  record(times_, start_);
  wait_ms(times_, 0, 30);
  record(times_, end_);
  EXPECT_FLOAT_EQ(times_.without_waits(31, start_, end_), 1) << "it was seen this time";
}

TEST_F(EventTimesTest, WhatAGraphRecordsIsLeftAloneForGood) {
  times_.given_to_graph(start_);
  EXPECT_FALSE(times_.has_waited());
  wait_ms(times_, 0, 30);
  record(times_, start_);
  wait_ms(times_, 0, 30);
  record(times_, end_);
  EXPECT_EQ(times_.without_waits(31, start_, end_), 31);
}

void* first_pages_only(std::size_t size) { return size > 4096 ? nullptr : os::map_pages(size); }

TEST_F(EventTimesTest, EventsForWhichThereIsNoMemoryAreLeftAlone) {
  constexpr std::uintptr_t kMany = 1000;
  EventTimes times(&read_now, &first_pages_only);
  wait_ms(times, 0, 1);
  record(times, start_);
  for (std::uintptr_t i = 3; i < kMany; ++i) record(times, event(i));
  wait_ms(times, 0, 30);
  record(times, end_);
  EXPECT_EQ(times.without_waits(31, start_, end_), 31) << "the end did not get in";
  record(times, start_);
  EXPECT_EQ(times.without_waits(31, event(kMany - 1), start_), 31) << "the other did not get in";
}

TEST_F(EventTimesTest, AForkedChildStartsOver) {
  wait_ms(times_, 0, 30);
  record(times_, end_);
  times_.start_over_in_child();
  EXPECT_FALSE(times_.has_waited());
  EXPECT_EQ(times_.without_waits(31, start_, end_), 31);
}

TEST_F(EventTimesTest, ThreadsThatRecordWhileTheClockRunsAndStops) {
  constexpr std::uintptr_t kThreads = 4;
  constexpr std::uintptr_t kEvents = 500;
  wait_ms(times_, 0, 1);
  std::atomic<bool> done{false};
  std::thread session([&] {
    while (!done) wait_ms(times_, 0, 1);
  });
  std::vector<std::thread> recorders;
  for (std::uintptr_t thread = 0; thread < kThreads; ++thread) {
    recorders.emplace_back([&, first = 1 + thread * kEvents * 2] {
      for (std::uintptr_t i = first; i < first + kEvents; ++i) {
        record(times_, event(i));
        times_.destroyed(event(i + kEvents));
        record(times_, event(i + kEvents));
      }
    });
  }
  for (std::thread& recorder : recorders) recorder.join();
  done = true;
  session.join();
  const CUevent last = event(1 + kThreads * kEvents * 2);
  record(times_, last);
  const float all = static_cast<float>(times_.waited_ns(0)) / 1e6F;
  for (std::uintptr_t i = 1; i < kThreads * kEvents * 2; ++i) {
    const float left = times_.without_waits(all, event(i), last);
    EXPECT_GE(left, 0.5F) << "event " << i << " came after the first wait";
    EXPECT_LE(left, all);
  }
}

}  // namespace
}  // namespace nvs::interposer::events
