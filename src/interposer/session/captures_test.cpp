// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/captures.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include "cuda_api/cuda_stream.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/test_patience.h"

namespace nvs::interposer {
namespace {

CUstream stream(std::intptr_t number) { return reinterpret_cast<CUstream>(number * 64); }
CUgraph graph(std::intptr_t number) { return reinterpret_cast<CUgraph>(number * 64); }
CUcontext context(std::intptr_t number) { return reinterpret_cast<CUcontext>(number * 64); }

class Captures : public testing::Test {
 protected:
  void SetUp() override { captures::start_over_in_child(); }

  static bool may_synchronise() {
    if (!captures::begin_synchronise(0)) return false;
    captures::end_synchronise(0);
    return true;
  }
  static void begin(CUstream on, CUcontext in = context(1), CUgraph into = nullptr) {
    captures::begins();
    captures::begun(on, in, CUDA_SUCCESS, into);
  }
};

TEST_F(Captures, NothingIsSynchronisedWhileOneGoesOn) {
  EXPECT_TRUE(may_synchronise());
  begin(stream(1));
  begin(stream(2));
  EXPECT_FALSE(may_synchronise());
  captures::ended(stream(1));
  EXPECT_FALSE(may_synchronise());
  captures::ended(stream(2));
  EXPECT_TRUE(may_synchronise());
}

TEST_F(Captures, OneThatIsAboutToBeginCounts) {
  captures::begins();
  EXPECT_FALSE(may_synchronise());
  captures::begun(stream(1), nullptr, CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_TRUE(may_synchronise());
}

TEST_F(Captures, MemoryIsKeptWhereItIsAndNotForEver) {
  EXPECT_FALSE(captures::keep_memory(clock_ns()));
  begin(stream(1));
  const std::int64_t long_after_ns = clock_ns() + captures::kKeepMemory_ns;
  EXPECT_TRUE(captures::keep_memory(clock_ns()));
  EXPECT_FALSE(captures::keep_memory(long_after_ns));
  captures::begins();
  EXPECT_TRUE(captures::keep_memory(long_after_ns)) << "another one is about to begin";
  captures::begun(stream(2), nullptr, CUDA_SUCCESS);
  EXPECT_FALSE(captures::keep_memory(clock_ns() + captures::kKeepMemory_ns));
}

TEST_F(Captures, AStreamThatGoesTakesItsCaptureAlong) {
  begin(stream(1));
  captures::destroyed(stream(2));
  EXPECT_FALSE(may_synchronise());
  captures::destroyed(stream(1));
  EXPECT_TRUE(may_synchronise());
}

TEST_F(Captures, SoDoesAContext) {
  begin(stream(1), context(1));
  begin(stream(2), context(2));
  begin(stream(3), context(1));
  captures::context_ended(context(1));
  EXPECT_FALSE(may_synchronise()) << "that of another one goes on";
  captures::ended(stream(2));
  EXPECT_TRUE(may_synchronise());
  captures::ended(stream(3));
  begin(stream(1));
  EXPECT_FALSE(may_synchronise());
  captures::context_ended(nullptr);
  EXPECT_FALSE(may_synchronise());
}

TEST_F(Captures, GraphsAreKnownByTheCapturesThatMakeThem) {
  begin(stream(1), context(1), graph(1));
  begin(stream(2), context(1), graph(2));
  begin(stream(3));
  const captures::Number first = captures::maker_of(graph(1));
  EXPECT_NE(first, captures::Number::none);
  EXPECT_NE(captures::maker_of(graph(2)), captures::Number::none);
  EXPECT_NE(captures::maker_of(graph(2)), first);
  EXPECT_EQ(captures::maker_of(graph(3)), captures::Number::none);
  EXPECT_EQ(captures::maker_of(nullptr), captures::Number::none);
  EXPECT_EQ(captures::destroyed(stream(1)), first);
  EXPECT_EQ(captures::maker_of(graph(1)), captures::Number::none);
  begin(stream(1), context(1), graph(1));
  EXPECT_NE(captures::maker_of(graph(1)), first) << "it is another one";
}

// The driver has ended a capture and given the handle of its graph away before we hear of the end.
TEST_F(Captures, AHandleOfANewGraphIsNotTheOldOne) {
  begin(stream(1), context(1), graph(1));
  begin(stream(2), context(1), graph(1));
  const captures::Number second = captures::maker_of(graph(1));
  EXPECT_NE(captures::ended(stream(1)), second);
  EXPECT_EQ(captures::maker_of(graph(1)), second);
  EXPECT_EQ(captures::ended(stream(2)), second);
}

// They have one handle.
TEST_F(Captures, DefaultStreamsAreToldApartByThreadAndContext) {
  begin(CU_STREAM_PER_THREAD, context(1), graph(1));
  begin(CU_STREAM_PER_THREAD, context(2), graph(2));
  const captures::Number first = captures::maker_of(graph(1));
  const captures::Number second = captures::maker_of(graph(2));
  std::thread([=] {
    begin(CU_STREAM_PER_THREAD, context(1), graph(3));
    const captures::Number third = captures::maker_of(graph(3));
    EXPECT_EQ(captures::ended(CU_STREAM_PER_THREAD, context(1)), third);
  }).join();
  EXPECT_EQ(captures::maker_of(graph(1)), first) << "it goes on";
  EXPECT_EQ(captures::ended(CU_STREAM_PER_THREAD, context(2)), second);
  EXPECT_EQ(captures::ended(CU_STREAM_PER_THREAD, context(1)), first);
  EXPECT_TRUE(may_synchronise());
}

TEST_F(Captures, EndsOfWhatNeverBeganChangeNothing) {
  captures::ended(stream(9));
  captures::destroyed(stream(9));
  begin(stream(1));
  captures::ended(stream(9));
  EXPECT_FALSE(may_synchronise());
  captures::ended(stream(1));
  EXPECT_TRUE(may_synchronise());
}

TEST_F(Captures, MoreThanTheTableHoldsAreCounted) {
  for (int i = 1; i <= 100; ++i) begin(stream(i));
  for (int i = 1; i < 100; ++i) captures::ended(stream(i));
  EXPECT_FALSE(may_synchronise());
  captures::ended(stream(100));
  EXPECT_TRUE(may_synchronise());
}

TEST_F(Captures, ACaptureWaitsForTheEndOfASynchronisation) {
  constexpr std::chrono::milliseconds kPatience{100};  // less than that of a capture
  std::atomic<bool> over{false};
  bool begun_before = true;
  play_in_time(kPatience, [&] {
    captures::start_over_in_child();
    over = false;
    EXPECT_TRUE(captures::begin_synchronise(0));
    std::thread program([&] {
      begin(stream(1));
      begun_before = !over;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    over = true;
    captures::end_synchronise(0);
    const auto ended = PatienceClock::now();
    program.join();
    return ended;
  });
  EXPECT_FALSE(begun_before);
}

// It waits only as long as the synchronisation may be on its way into the driver.
TEST_F(Captures, ACaptureBeginsBesideASynchronisationThatTakesLong) {
  ASSERT_TRUE(captures::begin_synchronise(0));
  std::atomic<bool> begun{false};
  std::thread program([&] {
    begin(stream(1));
    begun = true;
  });
  program.join();
  EXPECT_TRUE(begun);
  captures::end_synchronise(0);
  EXPECT_FALSE(may_synchronise());
}

}  // namespace
}  // namespace nvs::interposer
