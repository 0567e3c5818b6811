// SPDX-License-Identifier: Apache-2.0
// Copies that are captured: they pass a closed gate, no drain waits for them, and memory stays
// where it is until they are outside again, however they end.
#include <csetjmp>
#include <functional>
#include <thread>

#include <pthread.h>

#include "interposer/exports/test_real.h"
#include "interposer/flow/flow.h"
#include "interposer/flow/test_events.h"
#include "interposer/gate/gated_call.h"
#include "interposer/gate/test_gate.h"
#include "interposer/session/captures.h"

namespace nvs::interposer {
namespace {

std::function<void()> in_copy;

CUresult fake_copy(CUdeviceptr, CUdeviceptr, std::size_t, CUstream) {
  if (in_copy) in_copy();
  return CUDA_SUCCESS;
}

CUresult copy() {
  static int thing = 0;
  return GatedCall<Row::cuMemcpyDtoDAsync_v2>::call(0x1000, 0x2000, 16,
                                                    reinterpret_cast<CUstream>(&thing));
}

class CapturedCall : public GateTest {
 protected:
  void SetUp() override {
    flow::use_fake_events();
    GateTest::SetUp();
    set_real_for_test<Row::cuMemcpyDtoDAsync_v2>(&fake_copy);
    in_copy = nullptr;
    ASSERT_TRUE(gate::close(1, kNoLimit));
    fake.capturing = true;
  }
  void TearDown() override {
    fake.capturing = false;
    gate::open(1);
    flow::start_over_in_child();
    gate::set_bounded(false);
    set_real_for_test<Row::cuStreamGetCtx>(nullptr);
    set_real_for_test<Row::cuCtxGetCurrent>(nullptr);
    GateTest::TearDown();
  }
};

TEST_F(CapturedCall, KeepsMemoryAndNoDrainWaitingUntilItIsOutside) {
  int copies = 0;
  in_copy = [&copies] {
    EXPECT_TRUE(gate::is_captured_inside());
    EXPECT_EQ(gate::threads_inside(), 0);
    if (++copies == 1) copy();  // by the driver itself
    EXPECT_TRUE(gate::is_captured_inside()) << "the outer one still is";
  };
  copy();
  EXPECT_EQ(copies, 2);
  EXPECT_FALSE(gate::is_captured_inside());
}

// A callback of the driver's submits something, where the queue is bounded.
TEST_F(CapturedCall, ASubmissionInsideIsMarkedOnceAndForItselfOnly) {
  flow::set_bound(0, 2'000'000);
  gate::set_bounded(true);
  in_copy = [] {
    fake.capturing = false;
    launch();
    fake.capturing = true;
    EXPECT_TRUE(gate::is_captured_inside());
  };
  copy();
  EXPECT_FALSE(gate::is_captured_inside());
  EXPECT_EQ(fake.launches, 1);
  EXPECT_EQ(flow::fake_events.records, 1);
}

TEST_F(CapturedCall, IsOverWhenItsThreadEnds) {
  in_copy = [] { pthread_exit(nullptr); };
  pthread_t thread{};
  const auto body = [](void*) -> void* {
    copy();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, body, nullptr), 0);
  pthread_join(thread, nullptr);
  EXPECT_FALSE(gate::is_captured_inside());
}

TEST_F(CapturedCall, IsTakenOverWhereALongjmpLeftIt) {
  static std::jmp_buf back;
  in_copy = [] { std::longjmp(back, 1); };
  if (setjmp(back) == 0) copy();
  EXPECT_TRUE(gate::is_captured_inside()) << "nobody can know";
  in_copy = nullptr;
  copy();
  EXPECT_FALSE(gate::is_captured_inside());
}

TEST_F(CapturedCall, CountsOnAThreadWithoutASlot) {
  const AllSlotsTaken taken;
  captures::begins();
  in_copy = [] {
    EXPECT_TRUE(gate::is_captured_inside());
    fake.capturing = false;
    launch();
    fake.capturing = true;
    EXPECT_TRUE(gate::is_captured_inside());
  };
  std::thread([] {
    copy();
    EXPECT_EQ(gate::thread_slot, nullptr);
  }).join();
  EXPECT_FALSE(gate::is_captured_inside());
  EXPECT_EQ(gate::threads_inside(), 0);
  captures::begun(nullptr, nullptr, CUDA_ERROR_ILLEGAL_STATE);
}

}  // namespace
}  // namespace nvs::interposer
