// SPDX-License-Identifier: Apache-2.0
// Calls in a process with several GPUs: each waits at the gates of those that it is for, and at no
// other.
#include <functional>
#include <thread>

#include "interposer/exports/test_real.h"
#include "interposer/gate/gated_call.h"
#include "interposer/gate/test_gate.h"
#include "interposer/session/contexts.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

CUcontext context_on(std::intptr_t gpu) { return reinterpret_cast<CUcontext>((gpu + 1) * 64); }
const auto kUnknown = reinterpret_cast<CUcontext>(std::uintptr_t{0x7777});
const auto kItsStream = reinterpret_cast<CUstream>(std::uintptr_t{0x5000});

template <class... Arguments>
CUresult succeed(Arguments...) {
  return CUDA_SUCCESS;
}

// Of three GPUs the first is current.
class SeveralGpus : public GateTest {
 protected:
  void SetUp() override {
    GateTest::SetUp();
    contexts::start_over_in_child();
    for (int gpu = 0; gpu < 3; ++gpu) contexts::created(context_on(gpu), gpu);
    set_real_for_test<Row::cuMemcpyPeerAsync>(&succeed);
    set_real_for_test<Row::cuMemcpyPeer>(&succeed);
    set_real_for_test<Row::cuMemcpy3DPeer>(&succeed);
    set_real_for_test<Row::cuGraphAddMemsetNode>(&succeed);
    set_real_for_test<Row::cuCtxPushCurrent_v2>(
        [](CUcontext) -> CUresult { return CUDA_ERROR_INVALID_CONTEXT; });
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&succeed);
  }
  void TearDown() override {
    contexts::start_over_in_child();
    set_real_for_test<Row::cuCtxPushCurrent_v2>(nullptr);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(nullptr);
    GateTest::TearDown();
  }

  // With the gate of that GPU closed.
  static bool waits(int gpu, const std::function<CUresult()>& call) {
    EXPECT_TRUE(gate::close(gpu, kNoLimit));
    std::atomic<int> id{0};
    std::atomic<bool> done{false};
    std::thread caller([&] {
      id = os::thread_id();
      EXPECT_EQ(call(), CUDA_SUCCESS);
      done = true;
      while (gate::is_closed(gpu)) std::this_thread::yield();
    });
    while (id == 0) std::this_thread::yield();
    while (!done && !is_asleep(id)) std::this_thread::yield();
    const bool has_waited = !done;
    gate::open(gpu);
    caller.join();
    return has_waited;
  }

  static CUresult copy(CUcontext to, CUcontext from) {
    return GatedCall<Row::cuMemcpyPeerAsync>::call(0x1000, to, 0x2000, from, 16, kItsStream);
  }
};

TEST_F(SeveralGpus, ACopyBetweenTwoWaitsForThem) {
  const auto between = [] { return copy(context_on(1), context_on(2)); };
  EXPECT_TRUE(waits(1, between));
  EXPECT_TRUE(waits(2, between));
  EXPECT_TRUE(waits(0, between)) << "its stream's";
}

TEST_F(SeveralGpus, ACopyBetweenTwoLeavesTheOthersAlone) {
  EXPECT_FALSE(waits(2, [] { return copy(context_on(0), context_on(1)); }));
  EXPECT_FALSE(waits(2, [] {
    return GatedCall<Row::cuMemcpyPeer>::call(0x1000, context_on(1), 0x2000, context_on(0), 16);
  }));
  EXPECT_FALSE(waits(2, [] {
    CUDA_MEMCPY3D_PEER all{};
    all.srcContext = context_on(0);
    all.dstContext = context_on(1);
    return GatedCall<Row::cuMemcpy3DPeer>::call(&all);
  }));
}

TEST_F(SeveralGpus, ANodeIsForTheGpuOfItsContext) {
  const auto add = [] {
    return GatedCall<Row::cuGraphAddMemsetNode>::call(nullptr, nullptr, nullptr, 0, nullptr,
                                                      context_on(1));
  };
  EXPECT_TRUE(waits(1, add));
  EXPECT_FALSE(waits(2, add));
}

TEST_F(SeveralGpus, AContextThatIsNotKnownMayBeOfAny) {
  EXPECT_TRUE(waits(2, [] { return copy(context_on(0), kUnknown); }));
}

}  // namespace
}  // namespace nvs::interposer
