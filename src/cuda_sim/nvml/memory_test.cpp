// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/nvml/test_library.h"
#include "cuda_sim/nvml/test_process.h"

namespace nvs::nvml {
namespace {

class MemoryTest : public NvmlTest {
 protected:
  nvmlMemory_v2_t memory(unsigned gpu = 0) {
    nvmlMemory_v2_t memory{};
    memory.version = nvmlMemory_v2;
    EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo_v2(device(gpu), &memory), NVML_SUCCESS);
    return memory;
  }
};

// The figures of nvidia-smi on the card: 143771 MiB, 616 of them reserved.
TEST_F(MemoryTest, IsThatOfTheCardAtFullScale) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this test has one thread
  ::setenv("NVSHARE_SIM_SCALE", "1", 1);
  start();
  EXPECT_EQ(memory().total, 150754820096U);
  EXPECT_EQ(memory().reserved, 644939776U);
  EXPECT_EQ(memory().free, 150109880320U);
  EXPECT_EQ(memory().used, 0U);
}

TEST_F(MemoryTest, BothVersionsAddUp) {
  start("h200", 2);
  const TestProcess tenant{{.gpu = 1, .bytes = 100 * kMiB}};
  ASSERT_TRUE(tenant.started());
  EXPECT_EQ(memory(0).used, 0U);
  const nvmlMemory_v2_t second = memory(1);
  EXPECT_EQ(second.version, nvmlMemory_v2);
  EXPECT_EQ(second.used, 100 * kMiB);
  EXPECT_EQ(second.total, second.used + second.free + second.reserved);

  nvmlMemory_t first{};
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo(device(1), &first), NVML_SUCCESS);
  EXPECT_EQ(first.total, second.total);
  EXPECT_EQ(first.free, second.free);
  EXPECT_EQ(first.used, second.used + second.reserved) << "it knows no reserve";
}

TEST_F(MemoryTest, RefusesOtherVersions) {
  start();
  nvmlMemory_v2_t memory{};
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo_v2(device(), &memory), NVML_ERROR_FUNCTION_NOT_FOUND);
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo_v2(device(), nullptr), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo(device(), nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(MemoryTest, ReturnsWhenItsOwnerIsKilled) {
  start();
  TestProcess tenant{{.bytes = 100 * kMiB}};
  ASSERT_EQ(memory().used, 100 * kMiB);
  tenant.kill();
  EXPECT_EQ(memory().used, 0U);
}

TEST_F(MemoryTest, Bar1HoldsAllOfALargeCardAndLittleOfASmallOne) {
  start();
  const TestProcess tenant{{.bytes = 100 * kMiB}};
  nvmlBAR1Memory_t bar{};
  EXPECT_EQ(nvml.nvmlDeviceGetBAR1MemoryInfo(device(), &bar), NVML_SUCCESS);
  EXPECT_EQ(bar.bar1Total, 262144 * kMiB / 64);
  EXPECT_EQ(bar.bar1Used, 100 * kMiB);
  EXPECT_EQ(bar.bar1Free, bar.bar1Total - bar.bar1Used);
}

TEST_F(MemoryTest, HasNoErrors) {
  start();
  nvmlEnableState_t current = NVML_FEATURE_DISABLED;
  nvmlEnableState_t pending = NVML_FEATURE_DISABLED;
  EXPECT_EQ(nvml.nvmlDeviceGetEccMode(device(), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, NVML_FEATURE_ENABLED);
  unsigned long long count = 9;
  EXPECT_EQ(nvml.nvmlDeviceGetTotalEccErrors(device(), NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                             NVML_VOLATILE_ECC, &count),
            NVML_SUCCESS);
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(nvml.nvmlDeviceGetTotalEccErrors(device(), NVML_MEMORY_ERROR_TYPE_COUNT,
                                             NVML_VOLATILE_ECC, &count),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryErrorCounter(device(), NVML_MEMORY_ERROR_TYPE_CORRECTED,
                                                 NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_L1_CACHE,
                                                 &count),
            NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(MemoryTest, CardsDifferInHowTheyRepairMemory) {
  start("t4");
  unsigned count = 9;
  EXPECT_EQ(nvml.nvmlDeviceGetRemappedRows(device(), &count, &count, &count, &count),
            NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml.nvmlDeviceGetRetiredPages(
                device(), NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR, &count, nullptr),
            NVML_SUCCESS);
  EXPECT_EQ(count, 0U);
}

}  // namespace
}  // namespace nvs::nvml
