// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <unistd.h>

#include "cuda_sim/nvml/test_library.h"

namespace nvs::nvml {
namespace {

using TopologyTest = NvmlTest;
using ModesTest = NvmlTest;

TEST_F(TopologyTest, CardsShareAHostBridge) {
  start("h200", 3);
  nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_SYSTEM;
  EXPECT_EQ(nvml.nvmlDeviceGetTopologyCommonAncestor(device(0), device(2), &level), NVML_SUCCESS);
  EXPECT_EQ(level, NVML_TOPOLOGY_HOSTBRIDGE);
  EXPECT_EQ(nvml.nvmlDeviceGetTopologyCommonAncestor(device(0), nullptr, &level),
            NVML_ERROR_INVALID_ARGUMENT);
  std::array<nvmlDevice_t, 4> near{};
  unsigned count = 0;
  EXPECT_EQ(
      nvml.nvmlDeviceGetTopologyNearestGpus(device(1), NVML_TOPOLOGY_HOSTBRIDGE, &count, nullptr),
      NVML_SUCCESS);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(nvml.nvmlDeviceGetTopologyNearestGpus(device(1), NVML_TOPOLOGY_HOSTBRIDGE, &count,
                                                  near.data()),
            NVML_SUCCESS);
  EXPECT_EQ(near[0], device(0));
  EXPECT_EQ(near[1], device(2));
  EXPECT_EQ(nvml.nvmlDeviceGetTopologyNearestGpus(device(1), NVML_TOPOLOGY_SINGLE, &count, nullptr),
            NVML_SUCCESS);
  EXPECT_EQ(count, 0U);
  int same = 9;
  EXPECT_EQ(nvml.nvmlDeviceOnSameBoard(device(0), device(1), &same), NVML_SUCCESS);
  EXPECT_EQ(same, 0);
}

TEST_F(TopologyTest, EveryCpuIsNearEveryCard) {
  start("h200", 2);
  unsigned count = 0;
  EXPECT_EQ(nvml.nvmlSystemGetTopologyGpuSet(0, &count, nullptr), NVML_SUCCESS);
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(nvml.nvmlSystemGetTopologyGpuSet(1U << 20, &count, nullptr), NVML_SUCCESS);
  EXPECT_EQ(count, 0U);
  std::array<unsigned long, 64> set{};
  EXPECT_EQ(nvml.nvmlDeviceGetCpuAffinity(device(), set.size(), set.data()), NVML_SUCCESS);
  long cpus = 0;
  for (const unsigned long word : set) cpus += __builtin_popcountl(word);
  EXPECT_EQ(cpus, ::sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryAffinity(device(), set.size(), set.data(), 0), NVML_SUCCESS);
  EXPECT_EQ(set[0], 1U) << "node 0";
  EXPECT_EQ(nvml.nvmlDeviceGetMemoryAffinity(device(), set.size(), set.data(), 2),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceGetCpuAffinity(device(), 0, set.data()), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(TopologyTest, CardsReachEachOtherOverPciAlone) {
  start("h200", 2);
  const auto status = [&](unsigned other, nvmlGpuP2PCapsIndex_t index) {
    nvmlGpuP2PStatus_t told = NVML_P2P_STATUS_UNKNOWN;
    EXPECT_EQ(nvml.nvmlDeviceGetP2PStatus(device(0), device(other), index, &told), NVML_SUCCESS);
    return told;
  };
  EXPECT_EQ(status(1, NVML_P2P_CAPS_INDEX_READ), NVML_P2P_STATUS_OK);
  EXPECT_EQ(status(1, NVML_P2P_CAPS_INDEX_NVLINK), NVML_P2P_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(status(0, NVML_P2P_CAPS_INDEX_READ), NVML_P2P_STATUS_NOT_SUPPORTED);
  nvmlEnableState_t state = NVML_FEATURE_DISABLED;
  EXPECT_EQ(nvml.nvmlDeviceGetNvLinkState(device(), 0, &state), NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(ModesTest, MigIsOffWhereThereIsMig) {
  start("h200");
  unsigned current = 9;
  unsigned pending = 9;
  EXPECT_EQ(nvml.nvmlDeviceGetMigMode(device(), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, static_cast<unsigned>(NVML_DEVICE_MIG_DISABLE));
  EXPECT_EQ(pending, static_cast<unsigned>(NVML_DEVICE_MIG_DISABLE));
  nvmlDevice_t mig = nullptr;
  EXPECT_EQ(nvml.nvmlDeviceGetMigDeviceHandleByIndex(device(), 0, &mig), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvml.nvmlDeviceIsMigDeviceHandle(device(), &current), NVML_SUCCESS);
  EXPECT_EQ(current, 0U);
  EXPECT_EQ(nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device(), &mig),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceId(device(), &current), NVML_ERROR_INVALID_ARGUMENT);
  nvmlDeviceAttributes_t attributes{};
  EXPECT_EQ(nvml.nvmlDeviceGetAttributes_v2(device(), &attributes), NVML_ERROR_NOT_SUPPORTED);
}

TEST_F(ModesTest, OlderCardsHaveNoMig) {
  start("t4");
  unsigned value = 9;
  nvmlDevice_t mig = nullptr;
  EXPECT_EQ(nvml.nvmlDeviceGetMigMode(device(), &value, &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml.nvmlDeviceGetMigDeviceHandleByIndex(device(), 0, &mig), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml.nvmlDeviceGetMaxMigDeviceCount(device(), &value), NVML_SUCCESS);
  EXPECT_EQ(value, 0U);
}

TEST_F(ModesTest, TheOtherModesAreTheDefaults) {
  start();
  nvmlComputeMode_t compute = NVML_COMPUTEMODE_PROHIBITED;
  EXPECT_EQ(nvml.nvmlDeviceGetComputeMode(device(), &compute), NVML_SUCCESS);
  EXPECT_EQ(compute, NVML_COMPUTEMODE_DEFAULT);
  nvmlEnableState_t persistence = NVML_FEATURE_DISABLED;
  EXPECT_EQ(nvml.nvmlDeviceGetPersistenceMode(device(), &persistence), NVML_SUCCESS);
  EXPECT_EQ(persistence, NVML_FEATURE_ENABLED);
}

}  // namespace
}  // namespace nvs::nvml
