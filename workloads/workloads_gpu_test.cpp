// SPDX-License-Identifier: Apache-2.0
// The workloads on a GPU (the simulated one, unless the environment says otherwise): each must
// pass, and what verifying looks for must be found when it is there.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "workloads/slab_buffer.h"
#include "workloads/workload_run.h"

namespace nvs::workloads {
namespace {

constexpr std::uint64_t kNominalBytes = 1ull << 30;

class WorkloadsOnGpu : public ::testing::Test {
 protected:
  ResultStatus run(const WorkloadKind& kind, Rewrite rewrite, std::uint64_t iterations) {
    const auto workload =
        kind.create(kernels_, {.bytes = kNominalBytes / gpu_.scale(), .rewrite = rewrite});
    return run_workload(gpu_, *workload, {.iterations = iterations, .sync_every = kind.sync_every},
                        [](const Status&) {});
  }

  Gpu gpu_{GpuOptions{}};
  Kernels kernels_{gpu_};
};

TEST_F(WorkloadsOnGpu, AllPass) {
  for (const WorkloadKind& kind : all_workloads()) {
    // An odd number of iterations ends with the two halves of ping and pong exchanged; the large
    // one takes the infer workload into a second request.
    for (const std::uint64_t iterations : {1u, 2u, 7u, 70u}) {
      const ResultStatus result = run(kind, Rewrite::kAsNeeded, iterations);
      EXPECT_TRUE(result.pass) << kind.name << ": " << result.message;
      EXPECT_EQ(result.iterations, iterations);
    }
  }
}

TEST_F(WorkloadsOnGpu, AllPassWhenTheyRewriteTheirData) {
  for (const WorkloadKind& kind : all_workloads()) {
    for (const std::uint64_t iterations : {1u, 2u, 7u, 70u}) {
      const ResultStatus result = run(kind, Rewrite::kAll, iterations);
      EXPECT_TRUE(result.pass) << kind.name << ": " << result.message;
    }
  }
}

TEST(ManagedOnGpu, PassesAndComesToTheGpu) {
  const Gpu gpu({.memory = MemoryKind::kManaged});
  if (!gpu.simulated()) GTEST_SKIP() << "only the simulator tells where managed memory is";
  const Kernels kernels(gpu);
  const auto workload =
      make_add(kernels, {.bytes = kNominalBytes / gpu.scale(), .rewrite = Rewrite::kAll});
  const ResultStatus result = run_workload(gpu, *workload, {.iterations = 3}, [](const Status&) {});
  EXPECT_TRUE(result.pass) << result.message;
  unsigned long long resident = 0, moved_in = 0, moved_out = 0;
  gpu.driver().sim()->cusimManaged(0, &resident, &moved_in, &moved_out);
  EXPECT_GT(resident, 0u);
}

float slab_number(std::size_t slab, std::uint64_t) { return static_cast<float>(slab); }

class SlabsOnGpu : public WorkloadsOnGpu {
 protected:
  SlabsOnGpu() {
    buffer_.fill(slab_number);
    buffer_.step(100);
    gpu_.synchronize();
  }

  void write(std::uint64_t index, float value) {
    NVS_CU(gpu_, cuMemcpyHtoD_v2, buffer_.address() + index * sizeof(float),
           static_cast<const void*>(&value), sizeof value);
  }

  std::uint64_t slab_floats_ = SlabBuffer::usual_slab_floats(gpu_);
  SlabBuffer buffer_{kernels_, "data", 4 * slab_floats_ + 16384, slab_floats_};
};

TEST_F(SlabsOnGpu, AreRightWhenNothingHappened) {
  EXPECT_EQ(buffer_.slabs(), 5u);
  EXPECT_EQ(buffer_.verify(), "");
}

TEST_F(SlabsOnGpu, AreFoundWrongByASingleValue) {
  // The last one of all is one that the simulator's kernels skip.
  for (const std::uint64_t index : {std::uint64_t{0}, slab_floats_ + 5, buffer_.floats() - 1}) {
    float right = 0;
    NVS_CU(gpu_, cuMemcpyDtoH_v2, static_cast<void*>(&right),
           buffer_.address() + index * sizeof(float), sizeof right);
    write(index, -1);
    EXPECT_NE(buffer_.verify(), "") << index;
    write(index, right);
    EXPECT_EQ(buffer_.verify(), "") << index;
  }
}

TEST_F(SlabsOnGpu, AreFoundExchanged) {
  NVS_CU(gpu_, cuMemcpyDtoD_v2, buffer_.slab_address(1), buffer_.slab_address(2),
         slab_floats_ * sizeof(float));
  const std::string message = buffer_.verify();
  EXPECT_NE(message.find("values of data are wrong"), std::string::npos) << message;
  EXPECT_NE(buffer_.verify_samples(), "");
}

TEST_F(SlabsOnGpu, AreFoundStale) {
  buffer_.note_step(1);
  EXPECT_NE(buffer_.verify(), "");
}

TEST_F(WorkloadsOnGpu, ErrorsNameTheCallAndWhatToDo) {
  try {
    const DeviceMemory memory(gpu_, 1ull << 50);
    FAIL() << "nobody has a petabyte";
  } catch (const CudaError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
        << text;
    EXPECT_NE(text.find("--size"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace nvs::workloads
