// SPDX-License-Identifier: Apache-2.0
// A program destroys a stream when the last call on it is over as far as it can tell, and we are
// about to use the stream once more.
#include <atomic>
#include <thread>

#include "interposer/exports/own_hooks.h"
#include "interposer/flow/flow.h"
#include "interposer/flow/test_events.h"
#include "interposer/gate/gated_call.h"
#include "interposer/gate/test_gate.h"
#include "interposer/session/test_patience.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

std::atomic<bool> is_destroyed{false};

class DestroyedStream : public GateTest {
 protected:
  void SetUp() override {
    flow::use_fake_events();
    GateTest::SetUp();
    set_real_for_test<Row::cuStreamDestroy_v2>([](CUstream) {
      is_destroyed = true;
      return CUDA_SUCCESS;
    });
    is_destroyed = false;
    gate::start_over_in_child();
    flow::start_over_in_child();
    flow::set_bound(0, 2'000'000);
    gate::set_bounded(true);
  }
  void TearDown() override {
    flow::start_over_in_child();
    gate::set_bounded(false);
    set_real_for_test<Row::cuStreamDestroy_v2>(nullptr);
    set_real_for_test<Row::cuStreamGetCtx>(nullptr);
    set_real_for_test<Row::cuCtxGetCurrent>(nullptr);
    GateTest::TearDown();
  }

  static CUstream stream() { return reinterpret_cast<CUstream>(0x40); }
  static CUresult launch_on(CUstream stream) {
    return GatedCall<Row::cuLaunchKernel>::call(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr,
                                                nullptr);
  }
  // Its id, once it has begun.
  static std::thread destroy(std::atomic<int>& id) {
    std::thread other([&id] {
      id = os::thread_id();
      EXPECT_EQ(hooks::cuStreamDestroy_v2(stream()), CUDA_SUCCESS);
    });
    while (id == 0) std::this_thread::yield();
    return other;
  }
};

TEST_F(DestroyedStream, IsNotUsedByAMark) {
  constexpr std::chrono::milliseconds kPatience{50};
  bool was_destroyed = false;
  flow::fake_events.in_record = [&] { was_destroyed = is_destroyed; };
  play_in_time(kPatience, [&] {
    is_destroyed = false;
    const int records = flow::fake_events.records;
    std::thread other;
    fake.in_launch = [&] {
      std::atomic<int> id{0};
      other = destroy(id);
      while (!is_destroyed && !is_asleep(id)) std::this_thread::yield();
    };
    EXPECT_EQ(launch_on(stream()), CUDA_SUCCESS);
    const auto marked = PatienceClock::now();
    other.join();
    EXPECT_EQ(flow::fake_events.records, records + 1);
    return marked;
  });
  EXPECT_FALSE(was_destroyed);
  EXPECT_TRUE(is_destroyed);
}

TEST_F(DestroyedStream, IsNotWaitedForByWhoeverUsesAnotherOrItself) {
  fake.in_launch = [] {
    std::atomic<int> id{0};
    destroy(id).join();
    EXPECT_TRUE(is_destroyed);
  };
  EXPECT_EQ(launch_on(reinterpret_cast<CUstream>(0x80)), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuStreamDestroy_v2(stream()), CUDA_SUCCESS);
}

// It submits to the stream while that is destroyed, or a longjmp has taken it out of the driver.
TEST_F(DestroyedStream, IsNotWaitedForLong) {
  fake.in_launch = [] {
    std::atomic<int> id{0};
    destroy(id).join();
    EXPECT_TRUE(is_destroyed);
  };
  EXPECT_EQ(launch_on(stream()), CUDA_SUCCESS);
}

}  // namespace
}  // namespace nvs::interposer
