// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/flow.h"

#include <functional>

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
std::function<void()> in_fill;

CUresult fill(CUdeviceptr, unsigned char, std::size_t) {
  if (in_fill) in_fill();
  return CUDA_SUCCESS;
}

class Flow : public testing::Test {
 protected:
  void SetUp() override {
    flow::use_fake_events();
    set_real_for_test<Row::cuCtxGetDevice>([](CUdevice* gpu) {
      *gpu = 0;
      return CUDA_SUCCESS;
    });
    in_fill = nullptr;
    set_real_for_test<Row::cuMemsetD8_v2>(&fill);
    set_real_for_test<Row::cuMemsetD8_v2_ptds>(&fill);
    set_real_for_test<Row::cuMemcpyPeer>(
        [](CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, std::size_t) { return CUDA_SUCCESS; });
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
  static flow::Look look(int gpu = 0) {
    flow::Look result{};
    EXPECT_TRUE(flow::look(gpu, result));
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

TEST_F(Flow, ACallWithoutAStreamIsMarkedOnTheDefaultStreamOfItsAbi) {
  gate::set_bounded(true);
  fake.complete = false;
  EXPECT_EQ(GatedCall<Row::cuMemsetD8_v2>::call(0, 0, 1), CUDA_SUCCESS);
  EXPECT_FALSE(look().done);
  EXPECT_EQ(fake.recorded_on, reinterpret_cast<CUstream>(CU_STREAM_LEGACY));
  fake.complete = true;
  EXPECT_TRUE(look().done);
  EXPECT_TRUE(look().certain);
  EXPECT_EQ(GatedCall<Row::cuMemsetD8_v2_ptds>::call(0, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(fake.recorded_on, reinterpret_cast<CUstream>(CU_STREAM_PER_THREAD));
}

// A copy that waits for the kernels before it is work for as long as it does.
TEST_F(Flow, ACallThatIsInTheDriverIsWork) {
  gate::set_bounded(true);
  flow::set_bound(1, kBound_ns);
  bool was_done = true;
  bool was_done_elsewhere = false;
  in_fill = [&] {
    os::sleep_ns(2 * look().remaining_ns + 1);
    was_done = look().done;
    was_done_elsewhere = look(1).done;
  };
  EXPECT_EQ(GatedCall<Row::cuMemsetD8_v2>::call(0, 0, 1), CUDA_SUCCESS);
  EXPECT_FALSE(was_done);
  EXPECT_TRUE(was_done_elsewhere);
  const flow::Look after = look();
  EXPECT_TRUE(after.done);
  EXPECT_TRUE(after.certain);
}

// An event there would break the capture.
TEST_F(Flow, NothingIsMarkedOnADefaultStreamBesideACapture) {
  gate::set_bounded(true);
  fake.capturing = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  std::int64_t before_ns = 0;
  in_fill = [&before_ns] {
    os::sleep_ns(flow::kPause_ns);
    before_ns = clock_ns();
  };
  EXPECT_EQ(GatedCall<Row::cuMemsetD8_v2>::call(0, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(fake.records, 0);
  const flow::Look after = look();
  EXPECT_FALSE(after.certain);
  EXPECT_LE(after.quiet_ns, clock_ns() - before_ns) << "it was at work until the call returned";
}

TEST_F(Flow, WhatTouchesNoStreamIsNotMarked) {
  set_real_for_test<Row::cuGraphInstantiateWithParams>(
      [](CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*) { return CUDA_SUCCESS; });
  gate::set_bounded(true);
  EXPECT_EQ(GatedCall<Row::cuGraphInstantiateWithParams>::call(nullptr, nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(fake.records, 0);
  EXPECT_FALSE(look().certain);
}

// A context that is not known may be of any GPU.
const auto kOthers = reinterpret_cast<CUcontext>(&thing);

TEST_F(Flow, ACopyBetweenGpusLosesTrackOfTheOther) {
  gate::set_bounded(true);
  flow::set_bound(1, kBound_ns);
  flow::emptied(1, flow::now(1));
  EXPECT_EQ(GatedCall<Row::cuMemcpyPeer>::call(0, kOthers, 0, nullptr, 1), CUDA_SUCCESS);
  EXPECT_TRUE(look().certain);
  EXPECT_FALSE(look(1).certain);
}

TEST_F(Flow, SoIsOneThatAClosedGateLetsIn) {
  gate::set_bounded(true);
  flow::set_bound(1, kBound_ns);
  flow::emptied(1, flow::now(1));
  ASSERT_TRUE(gate::close(0, 0));
  gate::let_one_in(0);
  EXPECT_EQ(GatedCall<Row::cuMemcpyPeer>::call(0, kOthers, 0, nullptr, 1), CUDA_SUCCESS);
  EXPECT_TRUE(look().certain);
  EXPECT_FALSE(look(1).certain);
}

// A stream is its own context, and the number of its GPU.
void use_streams_of_two_gpus() {
  static thread_local CUcontext current = nullptr;
  static const auto gpu_of = [](auto handle) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(handle) & 1);
  };
  set_real_for_test<Row::cuStreamGetCtx>([](CUstream stream, CUcontext* place) {
    *place = reinterpret_cast<CUcontext>(stream);
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuCtxPushCurrent_v2>([](CUcontext context) {
    current = context;
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuCtxGetDevice>([](CUdevice* gpu) {
    *gpu = gpu_of(current);
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuLaunchCooperativeKernelMultiDevice>(
      [](CUDA_LAUNCH_PARAMS*, unsigned, unsigned) { return CUDA_SUCCESS; });
}

TEST_F(Flow, LaunchesOnSeveralGpusCountOnEach) {
  use_streams_of_two_gpus();
  gate::set_bounded(true);
  flow::set_bound(1, kBound_ns);
  flow::emptied(1, flow::now(1));
  CUDA_LAUNCH_PARAMS launches[2] = {};
  launches[0].hStream = reinterpret_cast<CUstream>(0x10);
  launches[1].hStream = reinterpret_cast<CUstream>(0x11);
  fake.complete = false;
  EXPECT_EQ(GatedCall<Row::cuLaunchCooperativeKernelMultiDevice>::call(launches, 2, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(fake.records, 2);
  for (int gpu = 0; gpu < 2; ++gpu) {
    EXPECT_FALSE(look(gpu).done);
    EXPECT_TRUE(look(gpu).certain);
  }
}

TEST_F(Flow, OfTwoLaunchesOnOneGpuOneCounts) {
  use_streams_of_two_gpus();
  gate::set_bounded(true);
  flow::set_bound(1, kBound_ns);
  flow::emptied(1, flow::now(1));
  CUDA_LAUNCH_PARAMS launches[3] = {};
  launches[0].hStream = reinterpret_cast<CUstream>(0x10);
  launches[1].hStream = reinterpret_cast<CUstream>(0x11);
  launches[2].hStream = reinterpret_cast<CUstream>(0x13);
  EXPECT_EQ(GatedCall<Row::cuLaunchCooperativeKernelMultiDevice>::call(launches, 3, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(fake.records, 2);
  EXPECT_EQ(fake.recorded_on, launches[1].hStream);
  EXPECT_TRUE(look(1).done);
  EXPECT_FALSE(look(1).certain);
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

// Whoever finds the gate closed waits for the window, and else not, however late it is taken up.
TEST_F(Flow, WaitsAreForWindowsThatWereWanted) {
  constexpr std::int64_t kWait_ns = 1'000'000;
  submit();
  EXPECT_EQ(look().waits_ns, 0);
  os::sleep_ns(kWait_ns);
  flow::window_opened(0, true);
  submit();
  EXPECT_EQ(look().waits_ns, 0);
  flow::gate_met_closed(0);
  os::sleep_ns(kWait_ns);
  flow::window_opened(0, true);
  submit();
  const std::int64_t waits_ns = look().waits_ns;
  EXPECT_GE(waits_ns, kWait_ns / 8);
  submit();
  EXPECT_EQ(look().waits_ns, waits_ns) << "each counts once";
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

// Whether something is taken to run as soon as it is submitted, some time after a window has
// opened. It is of a kind of which nothing is known, so that it is not over by then. A thread may
// be kept from running just when it matters: then it tells nothing.
bool runs_at_once(CUstream stream, bool took_over) {
  static std::uint64_t kind = 100;
  for (;;) {
    flow::Look look{};
    fake.complete = true;
    EXPECT_TRUE(flow::look(0, look));
    const std::int64_t before_ns = clock_ns();
    flow::window_opened(0, took_over);
    os::sleep_ns(flow::kTurnToUs_ns);
    fake.complete = false;
    const std::int64_t submits_ns = clock_ns();
    EXPECT_TRUE(flow::count(0, stream, ++kind));
    flow::mark(0, stream);
    EXPECT_TRUE(flow::look(0, look));
    const std::int64_t first_ns = look.remaining_ns;
    EXPECT_TRUE(flow::look(0, look));
    const std::int64_t now_ns = clock_ns();
    const bool in_time = now_ns - submits_ns < flow::kTurnToUs_ns;
    if (in_time && now_ns - before_ns < flow::kFirstGuess_ns) return look.remaining_ns < first_ns;
  }
}

// Which may be long after the window has opened.
TEST_F(Flow, TheGpuTurnsWhenItGetsWork) { EXPECT_FALSE(runs_at_once(stream(), true)); }

TEST_F(Flow, AGpuThatNobodyElseHadDoesNotHaveToTurn) { EXPECT_TRUE(runs_at_once(stream(), false)); }

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
    flow::asks_no_more(0, room.asked_ns);
  };
  fill(flow::kStayAwake_ns / 2);
  EXPECT_EQ(room.sleep_ns, 0) << "less than that is queued";
  fill(kLongBound_ns);
  EXPECT_GT(room.sleep_ns, 0);
}

}  // namespace
}  // namespace nvs::interposer
