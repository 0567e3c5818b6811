// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/flow.h"

#include <gtest/gtest.h>

#include "interposer/flow/queue.h"
#include "interposer/flow/test_events.h"
#include "interposer/gate/gate.h"
#include "interposer/gate/gated_call.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/faults.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

constexpr std::int64_t kBound_ns = 2'000'000;

flow::FakeEvents& fake = flow::fake_events;
int thing = 0;

class Flow : public testing::Test {
 protected:
  void SetUp() override {
    flow::use_fake_events();
    set_real_for_test<Row::cuCtxGetDevice>([](CUdevice* gpu) {
      *gpu = 0;
      return CUDA_SUCCESS;
    });
    set_real_for_test<Row::cuMemsetD8_v2>(
        [](CUdeviceptr, unsigned char, std::size_t) { return CUDA_SUCCESS; });
    flow::start_over_in_child();
    gate::start_over_in_child();
    flow::set_bound(0, kBound_ns);
    flow::emptied(0, flow::now(0));
  }
  void TearDown() override {
    flow::start_over_in_child();
    gate::start_over_in_child();
  }

  static void submit() {
    ASSERT_TRUE(flow::count(0, stream(), 1));
    flow::mark(0, stream());
  }
  static CUstream stream() { return reinterpret_cast<CUstream>(&thing); }
  static flow::Look look() {
    flow::Look result{};
    EXPECT_TRUE(flow::look(0, result));
    return result;
  }
};

TEST_F(Flow, MarksTellForCertainWhatWasCounted) {
  fake.complete = false;
  submit();
  EXPECT_FALSE(look().done);
  fake.complete = true;
  EXPECT_TRUE(look().done);
  EXPECT_TRUE(look().certain);
}

TEST_F(Flow, AMarkTellsThatTheContextIsLost) {
  faults::start_over_in_child();
  submit();
  fake.result = CUDA_ERROR_UNKNOWN;
  EXPECT_TRUE(look().done);
  EXPECT_FALSE(faults::is_noted(0));
  submit();
  fake.result = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_TRUE(look().done) << "nothing runs any more";
  EXPECT_TRUE(faults::is_noted(0));
  EXPECT_FALSE(faults::is_noted(1));
  faults::start_over_in_child();
}

TEST_F(Flow, WhatLostTrackIsOnlyFoundAgainByALaterSynchronisation) {
  const flow::Moment before = flow::now(0);
  flow::lose_track(0);
  EXPECT_FALSE(look().certain);
  flow::emptied(0, before);
  EXPECT_FALSE(look().certain);
  flow::emptied(0, flow::now(0));
  EXPECT_TRUE(look().certain);
}

TEST_F(Flow, TimeWithoutABoundLosesTrack) {
  flow::set_bound(0, kBound_ns + 1);
  EXPECT_TRUE(look().certain);
  flow::set_bound(0, 0);
  flow::emptied(0, flow::now(0));  // of a drain that comes too late
  flow::set_bound(0, kBound_ns);
  EXPECT_FALSE(look().certain);
}

TEST_F(Flow, ADrainThatComesTooLateLeavesTheNextWindowsMarks) {
  const flow::Moment before = flow::now(0);
  flow::window_opened(0, false);
  fake.complete = false;
  submit();
  flow::emptied(0, before);
  EXPECT_FALSE(look().done);
}

TEST_F(Flow, SoDoesOneThatWasRefused) {
  const flow::Moment before = flow::now(0);
  flow::lose_track(0);
  fake.complete = false;
  submit();
  flow::emptied(0, before);
  EXPECT_FALSE(look().done);
}

TEST_F(Flow, NobodyWhoLosesTrackWaitsForTheDriver) {
  fake.complete = false;
  submit();
  fake.in_query = [] {
    flow::lose_track(0);
    flow::set_bound(0, 0);
    flow::set_bound(0, kBound_ns);
  };
  EXPECT_FALSE(look().certain);
}

TEST_F(Flow, ACallWithoutAStreamLosesTrack) {
  gate::set_bounded(true);
  EXPECT_TRUE(look().certain);
  EXPECT_EQ(GatedCall<Row::cuMemsetD8_v2>::call(0, 0, 1), CUDA_SUCCESS);
  EXPECT_FALSE(look().certain);
}

TEST_F(Flow, PausesAreAddedUpWhereNothingElseMayRun) {
  const auto pause_and_submit = [] {
    EXPECT_TRUE(look().done);
    os::sleep_ns(2 * flow::kPause_ns);
    submit();
  };
  submit();
  const std::int64_t before_ns = flow::paused_ns(0);
  pause_and_submit();
  const std::int64_t paused_ns = flow::paused_ns(0);
  EXPECT_GE(paused_ns - before_ns, 2 * flow::kPause_ns);
  flow::lose_track(0);
  pause_and_submit();
  EXPECT_EQ(flow::paused_ns(0), paused_ns);
}

// Waking up is not work: whoever is interrupted often would pay for it each time.
TEST_F(Flow, TimeUntilAWindowIsTakenUpIsNoWork) {
  submit();
  EXPECT_TRUE(look().done);
  const std::int64_t before_ns = flow::paused_ns(0);
  flow::window_opened(0, false);
  os::sleep_ns(1);
  submit();
  EXPECT_GT(flow::paused_ns(0), before_ns);
}

// Nor is what the GPU needs to turn to us; where nobody else had it, it does not have to.
TEST_F(Flow, WhatTheGpuNeedsToTurnIsNoWork) {
  const auto no_work_ns = [](bool took_over) {
    EXPECT_TRUE(look().done);
    const std::int64_t before_ns = flow::paused_ns(0);
    flow::window_opened(0, took_over);
    submit();
    return flow::paused_ns(0) - before_ns;
  };
  submit();
  const std::int64_t begin_ns = clock_ns();
  const std::int64_t alone_ns = no_work_ns(false);
  EXPECT_LE(alone_ns, clock_ns() - begin_ns);
  EXPECT_GE(no_work_ns(true), flow::kTurnToUs_ns);
}

TEST_F(Flow, WhoWaitsForRoomSleepsWhileThereIsEnoughQueued) {
  constexpr std::int64_t kLongBound_ns = 1'000'000'000;
  fake.complete = false;
  flow::Room room{};
  const auto fill = [&room](std::int64_t bound_ns) {
    flow::set_bound(0, bound_ns);
    for (;;) {
      room = flow::ask(0, stream(), 1);
      if (!room.counted) break;
      flow::mark(0, stream());
    }
    EXPECT_GT(room.wait_ns, 0);
    EXPECT_LE(room.sleep_ns, room.wait_ns);
  };
  fill(flow::kStayAwake_ns / 2);
  EXPECT_EQ(room.sleep_ns, 0) << "less than that is queued";
  fill(kLongBound_ns);
  EXPECT_GT(room.sleep_ns, 0);
}

}  // namespace
}  // namespace nvs::interposer
