// SPDX-License-Identifier: Apache-2.0
// Failures on request, through the environment and through the test API.
#include <csignal>

#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kInjectionFloats = 1024;

std::vector<CUresult> allocate_times(const Gpu& gpu, int times) {
  std::vector<CUresult> results;
  for (int i = 0; i < times; ++i) {
    CUdeviceptr address = 0;
    results.push_back(gpu->cuMemAlloc_v2(&address, 4096));
  }
  return results;
}

constexpr auto kGood = CUDA_SUCCESS;
constexpr auto kFull = CUDA_ERROR_OUT_OF_MEMORY;

TEST(Injection, EnvironmentFailsTheCallsItNamesAndNoOthers) {
  SimMachine machine;
  run_process(
      machine,
      [](Line&) {
        const Gpu gpu;
        const auto results = allocate_times(gpu, 6);
        EXPECT_EQ(results, (std::vector<CUresult>{kGood, kGood, kFull, kFull, kFull, kGood}));
        EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
        EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_SUCCESS);
        EXPECT_EQ(gpu.read(gpu.filled(kInjectionFloats, 1), 1).front(), 1);
      },
      {{"NVSHARE_SIM_FAIL", "cuMemAlloc_v2:2:3:2,cuCtxSynchronize:0:1:702"}});
}

TEST(Injection, ACallThatIsToSucceedDoesNothing) {
  SimMachine machine;
  run_process(machine,
              [](Line&) {
                const Gpu gpu;
                CUdeviceptr address = 7;
                EXPECT_EQ(gpu->cuMemAlloc_v2(&address, 4096), CUDA_SUCCESS);
                EXPECT_EQ(address, 7U);
              },
              {{"NVSHARE_SIM_FAIL", "cuMemAlloc_v2:0:1:0"}});
}

TEST(Injection, ADriverWithoutVmmSaysSoAndRefusesIt) {
  SimMachine machine;
  run_process(machine,
              [](Line&) {
                const Gpu gpu;
                int has_vmm = 1;
                EXPECT_EQ(gpu->cuDeviceGetAttribute(
                              &has_vmm, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0),
                          CUDA_SUCCESS);
                EXPECT_EQ(has_vmm, 0);
                CUdeviceptr address = 0;
                for (int again = 0; again < 3; ++again) {
                  EXPECT_EQ(gpu->cuMemAddressReserve(&address, 2 << 20, 0, 0, 0),
                            CUDA_ERROR_NOT_SUPPORTED);
                }
                EXPECT_EQ(allocate_times(gpu, 1), (std::vector<CUresult>{kGood}));
              },
              {{"NVSHARE_SIM_WITHOUT", "vmm"}});
}

TEST(Injection, TestApiFailsTheCallsItNames) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    EXPECT_EQ(gpu.sim().cusimFailCall("cuMemAlloc_v2", 1, 2, kFull), 0);
    EXPECT_EQ(allocate_times(gpu, 4), (std::vector<CUresult>{kGood, kFull, kFull, kGood}));
    EXPECT_EQ(gpu.sim().cusimFailCall("cuMemAlloc_v2", 0, 1, CUDA_ERROR_UNKNOWN), 0);
    EXPECT_EQ(allocate_times(gpu, 2), (std::vector<CUresult>{CUDA_ERROR_UNKNOWN, kGood}));
    EXPECT_EQ(gpu.sim().cusimFailCall("cuNoSuchCall", 0, 1, kFull), -1);
    EXPECT_EQ(gpu.sim().cusimFailCall(nullptr, 0, 1, kFull), -1);
    EXPECT_EQ(gpu.sim().cusimFailCall("cuMemAlloc_v2", 0, 0, kFull), -1);
    EXPECT_EQ(allocate_times(gpu, 1), (std::vector<CUresult>{kGood}));
  });
}

TEST(Injection, FailedCallHasNoEffect) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.filled(kInjectionFloats, 1);
    const std::size_t before = gpu.free_bytes();
    gpu.sim().cusimFailCall("cuMemAlloc_v2", 0, 1, kFull);
    gpu.sim().cusimFailCall("cuMemFree_v2", 0, 1, CUDA_ERROR_UNKNOWN);
    gpu.sim().cusimFailCall("cuLaunchKernel", 0, 1, CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(allocate_times(gpu, 1), (std::vector<CUresult>{kFull}));
    EXPECT_EQ(gpu->cuMemFree_v2(data), CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(gpu.step(data, 1, kInjectionFloats), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(gpu.free_bytes(), before);
    EXPECT_EQ(gpu.read(data, 1).front(), 1);
  });
}

TEST(Injection, FailuresStayInTheirProcess) {
  SimMachine machine;
  SimProcess failing(machine, [](Line& line) {
    const Gpu gpu;
    gpu.sim().cusimFailCall("cuMemAlloc_v2", 0, 1, kFull);
    line.tell("armed");
    line.expect("go");
    EXPECT_EQ(allocate_times(gpu, 1), (std::vector<CUresult>{kFull}));
  });
  failing.line().expect("armed");
  run_process(machine, [](Line&) {
    const Gpu gpu;
    EXPECT_EQ(allocate_times(gpu, 1), (std::vector<CUresult>{kGood}));
  });
  failing.line().tell("go");
  EXPECT_EQ(failing.wait(), 0) << failing.errors();
}

// Other work in the same context, process and on other streams waits; other processes do not.
TEST(Injection, HangingKernelIsReleasedAndThenRight) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.filled(kInjectionFloats, 1);
    const CUstream stream = gpu.stream();
    gpu.launch_hanging([&] { return gpu.step(data, 1, kInjectionFloats, stream); });
    NVS_MUST(gpu.step(data, 10, kInjectionFloats, stream));
    EXPECT_EQ(gpu->cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(gpu.sim().cusimReleaseHang(), 0);
    EXPECT_EQ(gpu->cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(gpu.read(data, 1).front(), 12);
    NVS_MUST(gpu.step(data, 1, kInjectionFloats, stream));
    EXPECT_EQ(gpu->cuStreamSynchronize(stream), CUDA_SUCCESS) << "only one kernel was to hang";
  });
}

TEST(Injection, OnlyTheKernelThatTheEnvironmentNamesHangs) {
  SimMachine machine;
  run_process(machine,
              [](Line&) {
                const Gpu gpu;
                const CUdeviceptr data = gpu.alloc(kInjectionFloats * sizeof(float));
                NVS_MUST(gpu.spin(1000));
                EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_SUCCESS);
                NVS_MUST(gpu.fill(data, 4, kInjectionFloats));
                EXPECT_EQ(gpu->cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
                // Releasing lets go what hangs already, and the kernel may not have got that far.
                while (gpu->cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY)
                  gpu.sim().cusimReleaseHang();
                EXPECT_EQ(gpu.read(data, 1).front(), 4);
                NVS_MUST(gpu.fill(data, 5, kInjectionFloats));
                EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_SUCCESS);
              },
              {{"NVSHARE_SIM_HANG_KERNEL", "nvs_fill"}});
}

// A process that hangs until it is told or killed.
void hang_until_told(Line& line) {
  const Gpu gpu;
  gpu.launch_hanging([&] { return gpu.spin(1000); });
  line.tell("hangs");
  line.expect("go");
}

TEST(Injection, OtherProcessesComputeWhileAKernelHangs) {
  SimMachine machine;
  SimProcess hanging(machine, hang_until_told);
  hanging.line().expect("hangs");
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.filled(kInjectionFloats, 0);
    for (int i = 0; i < 20; ++i) {
      NVS_MUST(gpu.step(data, 1, kInjectionFloats));
      NVS_MUST(gpu->cuCtxSynchronize());
    }
    EXPECT_EQ(gpu.read(data, 1).front(), 20);
  });
  hanging.line().tell("go");
  EXPECT_EQ(hanging.wait(), 0) << "it can exit all the same: " << hanging.errors();
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Injection, ProcessWithAHungKernelCanBeKilled) {
  SimMachine machine;
  SimProcess hanging(machine, hang_until_told);
  hanging.line().expect("hangs");
  hanging.kill();
  EXPECT_EQ(machine.books(), Books{});
  run_process(machine, [](Line&) {
    const Gpu gpu;
    EXPECT_EQ(gpu.read(gpu.filled(kInjectionFloats, 2), 1).front(), 2)
        << "its turn on the GPU is over";
  });
}

TEST(Injection, ContextWithAHungKernelCanBeDestroyed) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    gpu.launch_hanging([&] { return gpu.spin(1000); });
    EXPECT_EQ(gpu->cuCtxDestroy_v2(gpu.context()), CUDA_SUCCESS);
    const Gpu next;
    EXPECT_EQ(next.read(next.filled(kInjectionFloats, 2), 1).front(), 2);
  });
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Injection, KernelThatTheEnvironmentNamesFaults) {
  SimMachine machine;
  run_process(machine,
              [](Line&) {
                const Gpu gpu;
                const CUdeviceptr data = gpu.filled(kInjectionFloats, 1);
                NVS_MUST(gpu.step(data, 1, kInjectionFloats));
                EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
                EXPECT_EQ(gpu.spin(1000), CUDA_ERROR_ILLEGAL_ADDRESS);
              },
              {{"NVSHARE_SIM_FAULT_KERNEL", "nvs_step"}});
}

TEST(Injection, TestApiMakesTheNextKernelFault) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    EXPECT_EQ(gpu.sim().cusimFaultNextKernel(), 0);
    NVS_MUST(gpu.spin(1000));
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

}  // namespace
}  // namespace nvs::sim_test
