// SPDX-License-Identifier: Apache-2.0
// Every kernel of the workloads' PTX runs on the simulated driver and computes what it promises.
#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::uint64_t kBlock = 16'384;
constexpr std::uint64_t kStripe = 256;
constexpr std::uint64_t kKernelFloats = 3 * kBlock + 100;

std::uint64_t mismatches(const Gpu& gpu, CUdeviceptr data, float initial, float expected) {
  const CUdeviceptr count = gpu.alloc(sizeof(std::uint64_t));
  NVS_MUST(gpu->cuMemsetD32_v2(count, 0, 2));
  NVS_MUST(gpu.launch("nvs_check", nullptr, data, initial, expected, kKernelFloats, count));
  std::uint64_t wrong = ~std::uint64_t{0};
  NVS_MUST(gpu->cuMemcpyDtoH_v2(&wrong, count, sizeof wrong));
  return wrong;
}

TEST(Kernel, ElementwiseKernelsAndTheCheckOfTheirResults) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr a = gpu.filled(kKernelFloats, 1);
    const CUdeviceptr b = gpu.filled(kKernelFloats, 10);
    const CUdeviceptr c = gpu.filled(kKernelFloats, 0);
    NVS_MUST(gpu.step(a, 2, kKernelFloats));
    EXPECT_EQ(mismatches(gpu, a, 1, 3), 0U);
    NVS_MUST(gpu.launch("nvs_add", nullptr, b, a, kKernelFloats));
    EXPECT_EQ(mismatches(gpu, b, 10, 13), 0U);
    NVS_MUST(gpu.launch("nvs_add3", nullptr, c, a, b, kKernelFloats));
    EXPECT_EQ(mismatches(gpu, c, 0, 16), 0U);
    EXPECT_EQ(mismatches(gpu, c, 0, 17), 3 * kStripe + 100) << "all stripes are wrong";
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
  });
}

TEST(Kernel, ChunksOfOneRangeComputeLikeOneAllocation) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const std::size_t unit = gpu.granularity();
    const std::size_t chunks = kKernelFloats * sizeof(float) / unit + 1;
    CUdeviceptr range = 0;
    NVS_MUST(gpu->cuMemAddressReserve(&range, chunks * unit, 0, 0, 0));
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (std::size_t i = 0; i < chunks; ++i) {
      const CUmemAllocationProp prop = vmm_prop(0);
      CUmemGenericAllocationHandle handle = 0;
      NVS_MUST(gpu->cuMemCreate(&handle, unit, &prop, 0));
      NVS_MUST(gpu->cuMemMap(range + i * unit, unit, 0, handle, 0));
      NVS_MUST(gpu->cuMemRelease(handle));
    }
    NVS_MUST(gpu->cuMemSetAccess(range, chunks * unit, &access, 1));
    NVS_MUST(gpu.fill(range, 1, kKernelFloats));
    for (int i = 0; i < 4; ++i) NVS_MUST(gpu.step(range, 1, kKernelFloats));
    EXPECT_EQ(mismatches(gpu, range, 1, 5), 0U);
    NVS_MUST(gpu->cuMemUnmap(range, chunks * unit));
  });
}

TEST(Kernel, MatmulAndInfer) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    constexpr std::uint32_t kSide = 64;
    const CUdeviceptr a = gpu.filled(kSide * kSide, 2);
    const CUdeviceptr b = gpu.filled(kSide * kSide, 3);
    const CUdeviceptr c = gpu.filled(kSide * kSide, 0);
    NVS_MUST(gpu.launch("nvs_matmul", nullptr, c, a, b, kSide));
    EXPECT_EQ(gpu.read(c, 65)[64], 6 * kSide);
    constexpr std::uint64_t kState = 256;
    const CUdeviceptr weights = gpu.filled(kKernelFloats, 1);
    const CUdeviceptr state = gpu.filled(kState, 0);
    NVS_MUST(gpu.launch("nvs_infer", nullptr, weights, state, kKernelFloats, kState));
    const std::vector<float> sums = gpu.read(state, kState);
    EXPECT_EQ(sums.front(), 4) << "three whole stripes and the beginning of one";
    EXPECT_EQ(sums.back(), 3);
  });
}

TEST(Kernel, UnknownKernelsAndWrongModules) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    EXPECT_EQ(gpu.launch("nvs_no_such_kernel", nullptr, std::uint64_t{1}), CUDA_ERROR_NOT_FOUND);
    CUmodule module = nullptr;
    EXPECT_NE(gpu->cuModuleLoadData(&module, "this is no PTX"), CUDA_SUCCESS);
  });
}

}  // namespace
}  // namespace nvs::sim_test
