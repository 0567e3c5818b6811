// SPDX-License-Identifier: Apache-2.0
// Two GPUs and what contexts own on them.
#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kFloats = 4096;

SimMachine two_gpus() { return SimMachine(Environment{{"NVSHARE_SIM_GPUS", "2"}}); }

TEST(Context, PeerAccessLetsAKernelUseTheOtherGpu) {
  SimMachine machine = two_gpus();
  run_process(machine, [](Line&) {
    const Gpu first(0);
    const Gpu second(1);
    first.make_current();
    const CUdeviceptr before = first.filled(kFloats, 3);
    second.make_current();
    int possible = 0;
    NVS_MUST(first->cuDeviceCanAccessPeer(&possible, 1, 0));
    EXPECT_EQ(possible, 1);
    NVS_MUST(second->cuCtxEnablePeerAccess(first.context(), 0));
    EXPECT_EQ(second->cuCtxEnablePeerAccess(first.context(), 0),
              CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    const CUdeviceptr sum = second.filled(kFloats, 1);
    first.make_current();
    const CUdeviceptr after = first.filled(kFloats, 10);
    second.make_current();
    // Memory from before and from after the permission.
    for (const CUdeviceptr remote : {before, after}) {
      NVS_MUST(second.launch("nvs_add", nullptr, sum, remote, std::uint64_t{kFloats}));
    }
    NVS_MUST(second->cuCtxSynchronize());
    EXPECT_EQ(second.read(sum, 1).front(), 14);
    EXPECT_EQ(second.sim().cusimViolationCount(), 0U);
  });
}

TEST(Context, WithoutPeerAccessTheSameKernelFaults) {
  for (const bool enabled_once : {false, true}) {
    SimMachine machine = two_gpus();
    run_process(machine, [&](Line&) {
      const Gpu first(0);
      const Gpu second(1);
      first.make_current();
      const CUdeviceptr remote = first.filled(kFloats, 3);
      second.make_current();
      if (enabled_once) {
        NVS_MUST(second->cuCtxEnablePeerAccess(first.context(), 0));
        NVS_MUST(second->cuCtxDisablePeerAccess(first.context()));
      }
      const CUdeviceptr sum = second.filled(kFloats, 1);
      NVS_MUST(second.launch("nvs_add", nullptr, sum, remote, std::uint64_t{kFloats}));
      EXPECT_EQ(second->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    });
  }
}

TEST(Context, PeerAccessOfAContextOutlivesThatOfAnother) {
  SimMachine machine = two_gpus();
  run_process(machine, [](Line&) {
    const Gpu first(0);
    const CUdeviceptr remote = first.filled(kFloats, 3);
    const Gpu second(1);
    const Gpu third(1);
    NVS_MUST(third->cuCtxEnablePeerAccess(first.context(), 0));
    second.make_current();
    NVS_MUST(second->cuCtxEnablePeerAccess(first.context(), 0));
    NVS_MUST(second->cuCtxDisablePeerAccess(first.context()));
    third.make_current();
    NVS_MUST(third.step(remote, 1, kFloats));
    EXPECT_EQ(third->cuCtxSynchronize(), CUDA_SUCCESS);
  });
}

TEST(Context, PeerCopyNeedsNoPermission) {
  SimMachine machine = two_gpus();
  run_process(machine, [](Line&) {
    const Gpu first(0);
    const Gpu second(1);
    first.make_current();
    const CUdeviceptr from = first.filled(kFloats, 3);
    second.make_current();
    const CUdeviceptr to = second.alloc(kFloats * sizeof(float));
    NVS_MUST(
        second->cuMemcpyPeer(to, second.context(), from, first.context(), kFloats * sizeof(float)));
    EXPECT_EQ(second.read(to, kFloats), std::vector<float>(kFloats, 3));
  });
}

TEST(Context, VmmMemoryIsUsableWhereAccessWasGiven) {
  SimMachine machine = two_gpus();
  run_process(machine, [](Line&) {
    const Gpu first(0);
    const Gpu second(1);
    first.make_current();
    const auto chunk = first.map_chunk(16 * first.granularity());
    NVS_MUST(first.fill(chunk.address, 1, kFloats));
    NVS_MUST(first->cuCtxSynchronize());
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 1},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    NVS_MUST(first->cuMemSetAccess(chunk.address, chunk.bytes, &access, 1));
    second.make_current();
    NVS_MUST(second.step(chunk.address, 1, kFloats));
    EXPECT_EQ(second->cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(second.read(chunk.address, 1).front(), 2);
    EXPECT_EQ(second.sim().cusimViolationCount(), 0U);
  });
}

TEST(Context, EachGpuHasBooksOfItsOwn) {
  SimMachine machine = two_gpus();
  SimProcess process(machine, [](Line& line) {
    const Gpu gpu(1);
    gpu.alloc(1 << 20);
    line.tell("holds");
    line.expect("go");
  });
  process.line().expect("holds");
  EXPECT_EQ(machine.books(0), (Books{0, 1, 0, 0}));
  EXPECT_EQ(machine.books(1).contexts, 1U);
  EXPECT_GT(machine.books(1).bytes, 1U << 20);
  process.line().tell("go");
  EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(machine.books(1), Books{});
}

TEST(Context, ResetOfThePrimaryContextFreesAllItHad) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu observer;
    const std::size_t before = observer.free_bytes();
    CUcontext primary = nullptr;
    NVS_MUST(observer->cuDevicePrimaryCtxRetain(&primary, 0));
    NVS_MUST(observer->cuCtxSetCurrent(primary));
    for (int i = 1; i <= 5; ++i) observer.alloc(static_cast<std::size_t>(i) << 18);
    observer.alloc(64);
    NVS_MUST(observer->cuDevicePrimaryCtxReset_v2(0));
    observer.make_current();
    EXPECT_EQ(observer.free_bytes(), before);
    unsigned flags = 0;
    int active = 1;
    NVS_MUST(observer->cuDevicePrimaryCtxGetState(0, &flags, &active));
    EXPECT_EQ(active, 0);
  });
}

TEST(Context, LastReleaseOfThePrimaryContextFreesAllItHad) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu observer;
    const std::size_t before = observer.free_bytes();
    CUcontext primary = nullptr;
    for (int i = 0; i < 2; ++i) NVS_MUST(observer->cuDevicePrimaryCtxRetain(&primary, 0));
    NVS_MUST(observer->cuCtxPushCurrent_v2(primary));
    observer.alloc(1 << 20);
    NVS_MUST(observer->cuCtxPopCurrent_v2(&primary));
    NVS_MUST(observer->cuDevicePrimaryCtxRelease_v2(0));
    EXPECT_LT(observer.free_bytes(), before);
    NVS_MUST(observer->cuDevicePrimaryCtxRelease_v2(0));
    EXPECT_EQ(observer.free_bytes(), before);
  });
}

}  // namespace
}  // namespace nvs::sim_test
