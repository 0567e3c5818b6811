// SPDX-License-Identifier: Apache-2.0
// A captured copy passes closed gates, but waits until all memory behind them is there.
#include <atomic>
#include <thread>

#include "interposer/exports/test_real.h"
#include "interposer/gate/gated_call.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/test_session.h"

namespace nvs::interposer {
namespace {

using session::Phase;
using vmm::ChunkEvent;

// The driver, which looks at the memory that it is told of.
struct CapturingDriver {
  static CUresult copy(CUdeviceptr, CUdeviceptr, std::size_t, CUstream) {
    const os::FutexGuard guard(swap::lock);
    for (int gpu = 0; gpu < 2; ++gpu) {
      const vmm::Sums sums = swap::regions.sums(gpu);
      if (sums.resident != sums.total()) is_missing = true;
    }
    is_called = true;
    return CUDA_SUCCESS;
  }
  static CUresult is_capturing(CUstream, CUstreamCaptureStatus* status) {
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  }

  static inline std::atomic<bool> is_called{false};
  static inline std::atomic<bool> is_missing{false};
};

class CapturedCopy : public SessionTest {
 protected:
  using Driver = CapturingDriver;

  void SetUp() override {
    SessionTest::SetUp();
    set_real_for_test<Row::cuMemcpyDtoDAsync_v2>(&Driver::copy);
    set_real_for_test<Row::cuStreamIsCapturing>(&Driver::is_capturing);
    Driver::is_called = Driver::is_missing = false;
    for (int gpu = 0; gpu < 2; ++gpu) {
      const std::uint64_t base = static_cast<std::uint64_t>(gpu + 1) << 40U;
      regions_[gpu] = swap::regions.insert({base, kBytes, kBytes, 1, gpu, {}});
      ASSERT_NE(regions_[gpu], nullptr);
      apply(gpu, {.event = ChunkEvent::backed, .handle = 70});
      session::gpus[gpu].phase = Phase::open;
    }
  }
  void TearDown() override {
    set_real_for_test<Row::cuStreamIsCapturing>(nullptr);
    SessionTest::TearDown();
  }

  void apply(int gpu, const vmm::Happening& what) {
    const os::FutexGuard guard(swap::lock);
    EXPECT_TRUE(swap::regions.apply(regions_[gpu], 0, what).fits);
    swap::changed(gpu);
  }
  static void close(int gpu) {
    ASSERT_TRUE(gate::close(gpu, -1));
    session::gpus[gpu].phase = Phase::closed;
  }
  void leave(int gpu) { apply(gpu, {.event = ChunkEvent::began_out}); }
  void come_back(int gpu) { apply(gpu, {.event = ChunkEvent::out_cancelled}); }

  // Until the copy waits for memory there, or has not done so.
  bool waits_for(int gpu) const {
    while (!Driver::is_called) {
      const auto want = heard<wire::Want>();
      if (want && want->ordinal == static_cast<wire::u32>(gpu)) return true;
      std::this_thread::yield();
    }
    return false;
  }

 private:
  static constexpr std::uint64_t kBytes = 2 * vmm::kMiB;
  vmm::Region* regions_[2] = {};
};

TEST_F(CapturedCopy, WaitsForMemoryThatLeftWhileItWaitedForOther) {
  close(0);
  leave(0);
  std::thread program([] {
    static int stream = 0;
    GatedCall<Row::cuMemcpyDtoDAsync_v2>::call(0x1000, 0x2000, 16,
                                               reinterpret_cast<CUstream>(&stream));
  });
  EXPECT_TRUE(waits_for(0));
  close(1);
  leave(1);
  come_back(0);
  EXPECT_TRUE(waits_for(1)) << "it has left since";
  come_back(1);
  program.join();
  EXPECT_TRUE(Driver::is_called);
  EXPECT_FALSE(Driver::is_missing);
}

TEST_F(CapturedCopy, DoesNotWaitForMemoryBehindOpenGates) {
  close(0);
  GatedCall<Row::cuMemcpyDtoDAsync_v2>::call(0x1000, 0x2000, 16, nullptr);
  EXPECT_TRUE(Driver::is_called);
  EXPECT_TRUE(heard_nothing());
}

}  // namespace
}  // namespace nvs::interposer
