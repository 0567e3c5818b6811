// SPDX-License-Identifier: Apache-2.0
// The simulator is stricter than hardware: what corrupts memory on a GPU now and then is found here
// every time, counted, named on standard error, and seen by every process of the machine.
#include <algorithm>
#include <bit>
#include <cstring>

#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kViolationFloats = 4096;
constexpr std::uint32_t kPoison = 0x7fb0150d;

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The violation is counted, and its text holds all these words.
void expect_one_violation(const Gpu& gpu, const std::vector<std::string>& words) {
  EXPECT_EQ(gpu.sim().cusimViolationCount(), 1U);
  const std::string text = violation_text(loaded_driver());
  for (const std::string& word : words) EXPECT_TRUE(mentions(text, word)) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

void expect_printed(const std::string& errors, const std::string& word) {
  const std::string mark = "cuda_sim: violation: ";
  const std::size_t first = errors.find(mark);
  ASSERT_NE(first, std::string::npos) << errors;
  EXPECT_TRUE(mentions(errors, word)) << errors;
  EXPECT_EQ(errors.find(mark, first + 1), std::string::npos) << "printed twice: " << errors;
}

// What a poisoned context answers, for good.
void expect_poisoned(const Gpu& gpu) {
  CUdeviceptr address = 0;
  CUstream stream = nullptr;
  EXPECT_EQ(gpu->cuMemAlloc_v2(&address, 4096), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(gpu->cuStreamCreate(&stream, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(gpu.spin(1000), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(Violation, UnmapUnderAKernelInFlight) {
  SimMachine machine;
  const std::string errors = run_process(machine, [](Line&) {
    const Gpu gpu;
    const auto chunk = gpu.map_chunk(16 * gpu.granularity());
    gpu.launch_hanging([&] { return gpu.fill(chunk.address, 1, kViolationFloats); });
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
    gpu.unmap_chunk(chunk);
    expect_one_violation(gpu, {"cuMemUnmap", "nvs_fill"});
    gpu.sim().cusimReleaseHang();
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_SUCCESS);
    expect_one_violation(gpu, {"cuMemUnmap"});
  });
  expect_printed(errors, "nvs_fill");
}

TEST(Violation, UnmapUnderACopyThatWaitsForAnEarlierKernel) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const auto chunk = gpu.map_chunk(16 * gpu.granularity());
    const std::vector<float> zeroes(16);
    gpu.launch_hanging([&] { return gpu.spin(1000); });
    NVS_MUST(gpu->cuMemcpyHtoDAsync_v2(chunk.address, zeroes.data(), 64, nullptr));
    NVS_MUST(gpu->cuMemUnmap(chunk.address, chunk.bytes));
    expect_one_violation(gpu, {"cuMemUnmap", "copy"});
  });
}

TEST(Violation, UnmapOfAnotherChunkThanTheKernelUsesIsNone) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const auto used = gpu.map_chunk(16 * gpu.granularity());
    const auto other = gpu.map_chunk(16 * gpu.granularity());
    gpu.launch_hanging([&] { return gpu.fill(used.address, 1, kViolationFloats); });
    gpu.unmap_chunk(other);
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
    gpu.sim().cusimReleaseHang();
    NVS_MUST(gpu->cuCtxSynchronize());
    gpu.unmap_chunk(used);
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
  });
}

TEST(Violation, TouchingUnmappedMemoryPoisonsTheContext) {
  SimMachine machine;
  const std::string errors = run_process(machine, [](Line&) {
    const Gpu gpu;
    CUdeviceptr hole = 0;
    NVS_MUST(gpu->cuMemAddressReserve(&hole, 16 * gpu.granularity(), 0, 0, 0));
    EXPECT_EQ(gpu.fill(hole, 1, kViolationFloats), CUDA_SUCCESS);
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_poisoned(gpu);
    expect_one_violation(gpu, {"nvs_fill", "not mapped"});
  });
  expect_printed(errors, "not mapped");
}

TEST(Violation, TouchingTheHoleBetweenTwoChunks) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const std::size_t unit = gpu.granularity();
    CUdeviceptr range = 0;
    NVS_MUST(gpu->cuMemAddressReserve(&range, 3 * unit, 0, 0, 0));
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                 CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    for (const std::size_t place : {0 * unit, 2 * unit}) {
      const CUmemAllocationProp prop = vmm_prop(0);
      CUmemGenericAllocationHandle handle = 0;
      NVS_MUST(gpu->cuMemCreate(&handle, unit, &prop, 0));
      NVS_MUST(gpu->cuMemMap(range + place, unit, 0, handle, 0));
      NVS_MUST(gpu->cuMemSetAccess(range + place, unit, &access, 1));
    }
    NVS_MUST(gpu.fill(range, 1, unit / sizeof(float)));
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
    NVS_MUST(gpu.fill(range, 1, 3 * unit / sizeof(float)));
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_one_violation(gpu, {"nvs_fill"});
  });
}

TEST(Violation, WritingWhereOnlyReadingIsAllowed) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const auto chunk = gpu.map_chunk(16 * gpu.granularity());
    const CUdeviceptr sum = gpu.filled(kViolationFloats, 1);
    NVS_MUST(gpu.fill(chunk.address, 2, kViolationFloats));
    NVS_MUST(gpu->cuCtxSynchronize());
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READ};
    NVS_MUST(gpu->cuMemSetAccess(chunk.address, chunk.bytes, &access, 1));
    NVS_MUST(gpu.launch("nvs_add", nullptr, sum, chunk.address, std::uint64_t{kViolationFloats}));
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(gpu.read(sum, 1).front(), 3);
    NVS_MUST(gpu.fill(chunk.address, 4, kViolationFloats));
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_one_violation(gpu, {"nvs_fill"});
  });
}

TEST(Violation, FaultLeavesOtherProcessesAndOtherGpusAlone) {
  SimMachine machine(Environment{{"NVSHARE_SIM_GPUS", "2"}});
  SimProcess neighbour(machine, [](Line& line) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.filled(kViolationFloats, 7);
    line.tell("ready");
    line.expect("faulted");
    NVS_MUST(gpu.step(data, 1, kViolationFloats));
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(gpu.read(data, 1).front(), 8);
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 1U) << "it is the machine's count";
  });
  neighbour.line().expect("ready");
  run_process(machine, [](Line&) {
    const Gpu elsewhere(1);
    const Gpu gpu(0);
    const CUdeviceptr gone = gpu.alloc(kViolationFloats * sizeof(float));
    NVS_MUST(gpu->cuMemFree_v2(gone));
    NVS_MUST(gpu.fill(gone, 1, kViolationFloats));
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    elsewhere.make_current();
    EXPECT_EQ(elsewhere.read(elsewhere.filled(kViolationFloats, 3), 1).front(), 3);
  });
  neighbour.line().tell("faulted");
  EXPECT_EQ(neighbour.wait(), 0) << neighbour.errors();
}

TEST(Violation, UseAfterFree) {
  SimMachine machine;
  const std::string errors = run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr gone = gpu.filled(kViolationFloats, 1);
    NVS_MUST(gpu->cuMemFree_v2(gone));
    EXPECT_EQ(gpu.step(gone, 1, kViolationFloats), CUDA_SUCCESS);
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_poisoned(gpu);
    expect_one_violation(gpu, {"nvs_step"});
  });
  expect_printed(errors, "nvs_step");
}

TEST(Violation, ReadOfFreshMemory) {
  SimMachine machine;
  const std::string errors = run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr fresh = gpu.alloc(kViolationFloats * sizeof(float));
    EXPECT_EQ(gpu.step(fresh, 1, kViolationFloats), CUDA_SUCCESS);
    EXPECT_EQ(gpu->cuCtxSynchronize(), CUDA_SUCCESS) << "it is no error of the driver's";
    expect_one_violation(gpu, {"nvs_step", "fresh"});
  });
  expect_printed(errors, "fresh");
}

TEST(Violation, FreshMemoryIsPoisonAndNeverWhatWasThereBefore) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const auto all_poison = [&](CUdeviceptr address) {
      const std::vector<float> values = gpu.read(address, kViolationFloats);
      return std::all_of(values.begin(), values.end(), [](float value) {
        return std::bit_cast<std::uint32_t>(value) == kPoison;
      });
    };
    for (int round = 0; round < 3; ++round) {
      const CUdeviceptr plain = gpu.alloc(kViolationFloats * sizeof(float));
      const auto chunk = gpu.map_chunk(16 * gpu.granularity());
      EXPECT_TRUE(all_poison(plain)) << round;
      EXPECT_TRUE(all_poison(chunk.address)) << round;
      NVS_MUST(gpu.fill(plain, 5, kViolationFloats));
      NVS_MUST(gpu.fill(chunk.address, 5, kViolationFloats));
      NVS_MUST(gpu->cuCtxSynchronize());
      EXPECT_EQ(gpu.read(plain, 1).front(), 5);
      NVS_MUST(gpu->cuMemFree_v2(plain));
      gpu.unmap_chunk(chunk);
    }
  });
}

TEST(Violation, CleanProgramHasNone) {
  SimMachine machine;
  const std::string errors = run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr plain = gpu.filled(kViolationFloats, 1);
    const auto chunk = gpu.map_chunk(16 * gpu.granularity());
    NVS_MUST(gpu->cuMemsetD32_v2(chunk.address, std::bit_cast<unsigned>(2.0F), kViolationFloats));
    NVS_MUST(gpu.launch("nvs_add", nullptr, plain, chunk.address, std::uint64_t{kViolationFloats}));
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(gpu.read(plain, 1).front(), 3);
    gpu.unmap_chunk(chunk);
    NVS_MUST(gpu->cuMemFree_v2(plain));
    NVS_MUST(gpu->cuCtxDestroy_v2(gpu.context()));
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
    EXPECT_EQ(violation_text(loaded_driver()), "");
  });
  EXPECT_EQ(errors, "");
  EXPECT_EQ(machine.books(), Books{});
}

}  // namespace
}  // namespace nvs::sim_test
