// SPDX-License-Identifier: Apache-2.0
// Pins the ABI that we declare on machines where no header of NVIDIA's is there to compare with: a
// slip of the pen in a struct breaks the build, a slip in a table this test.
#include <cstddef>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "cuda_api/cuda.h"
#include "cuda_api/nvml.h"

namespace {

#define NVS_SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type);
NVS_SIZE(CUuuid, 16)
NVS_SIZE(CUipcMemHandle, 64)
NVS_SIZE(CUipcEventHandle, 64)
NVS_SIZE(CUmemFabricHandle, 64)
NVS_SIZE(CUdevprop, 56)
NVS_SIZE(CUctxCreateParams, 24)
NVS_SIZE(CUexecAffinityParam, 8)
NVS_SIZE(CUdevResource, 144)
NVS_SIZE(CUmemLocation, 8)
NVS_SIZE(CUmemAllocationProp, 32)
NVS_SIZE(CUmemAccessDesc, 12)
NVS_SIZE(CUmemPoolProps, 88)
NVS_SIZE(CUmemPoolPtrExportData, 64)
NVS_SIZE(CUarrayMapInfo, 96)
NVS_SIZE(CUmulticastObjectProp, 32)
NVS_SIZE(CUDA_MEMCPY2D, 128)
NVS_SIZE(CUDA_MEMCPY2D_v1, 96)
NVS_SIZE(CUDA_MEMCPY3D, 200)
NVS_SIZE(CUDA_MEMCPY3D_v1, 144)
NVS_SIZE(CUDA_MEMCPY3D_PEER, 200)
NVS_SIZE(CUDA_MEMCPY3D_BATCH_OP, 112)
NVS_SIZE(CUmemcpyAttributes, 24)
NVS_SIZE(CUDA_ARRAY_DESCRIPTOR, 24)
NVS_SIZE(CUDA_ARRAY_DESCRIPTOR_v1, 16)
NVS_SIZE(CUDA_ARRAY3D_DESCRIPTOR, 40)
NVS_SIZE(CUDA_ARRAY3D_DESCRIPTOR_v1, 24)
NVS_SIZE(CUDA_RESOURCE_DESC, 144)
NVS_SIZE(CUDA_TEXTURE_DESC, 104)
NVS_SIZE(CUDA_RESOURCE_VIEW_DESC, 112)
NVS_SIZE(CUtensorMap, 128)
NVS_SIZE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, 104)
NVS_SIZE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, 88)
NVS_SIZE(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, 96)
NVS_SIZE(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, 144)
NVS_SIZE(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, 144)
NVS_SIZE(CUlaunchAttributeValue, 64)
NVS_SIZE(CUlaunchAttribute, 72)
NVS_SIZE(CUlaunchConfig, 56)
NVS_SIZE(CUDA_LAUNCH_PARAMS, 56)
NVS_SIZE(CUstreamBatchMemOpParams, 48)
NVS_SIZE(CUaccessPolicyWindow, 32)
NVS_SIZE(CUgraphNodeParams, 256)
NVS_SIZE(CUgraphEdgeData, 8)
NVS_SIZE(CUDA_KERNEL_NODE_PARAMS_v1, 56)
NVS_SIZE(CUDA_KERNEL_NODE_PARAMS_v2, 72)
NVS_SIZE(CUDA_KERNEL_NODE_PARAMS_v3, 72)
NVS_SIZE(CUDA_MEMSET_NODE_PARAMS_v1, 40)
NVS_SIZE(CUDA_MEMSET_NODE_PARAMS_v2, 48)
NVS_SIZE(CUDA_MEMCPY_NODE_PARAMS, 216)
NVS_SIZE(CUDA_HOST_NODE_PARAMS_v1, 16)
NVS_SIZE(CUDA_HOST_NODE_PARAMS_v2, 16)
NVS_SIZE(CUDA_MEM_ALLOC_NODE_PARAMS_v1, 120)
NVS_SIZE(CUDA_MEM_ALLOC_NODE_PARAMS_v2, 120)
NVS_SIZE(CUDA_BATCH_MEM_OP_NODE_PARAMS_v1, 32)
NVS_SIZE(CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, 32)
NVS_SIZE(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2, 24)
NVS_SIZE(CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2, 24)
NVS_SIZE(CUDA_CONDITIONAL_NODE_PARAMS, 32)
NVS_SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS, 32)
NVS_SIZE(CUgraphExecUpdateResultInfo, 24)
NVS_SIZE(CUcheckpointLockArgs, 64)
NVS_SIZE(CUcheckpointCheckpointArgs, 64)
NVS_SIZE(CUcheckpointRestoreArgs, 64)
NVS_SIZE(CUcheckpointUnlockArgs, 64)
NVS_SIZE(CUmemDecompressParams, 64)

NVS_SIZE(nvmlMemory_t, 24)
NVS_SIZE(nvmlMemory_v2_t, 40)
NVS_SIZE(nvmlBAR1Memory_t, 24)
NVS_SIZE(nvmlUtilization_t, 8)
NVS_SIZE(nvmlProcessInfo_v1_t, 16)
NVS_SIZE(nvmlProcessInfo_v2_t, 24)
NVS_SIZE(nvmlProcessInfo_t, 24)
NVS_SIZE(nvmlProcessDetail_v1_t, 32)
NVS_SIZE(nvmlProcessDetailList_t, 24)
NVS_SIZE(nvmlProcessUtilizationSample_t, 32)
NVS_SIZE(nvmlProcessUtilizationInfo_v1_t, 40)
NVS_SIZE(nvmlProcessesUtilizationInfo_t, 24)
NVS_SIZE(nvmlPciInfo_t, 68)
NVS_SIZE(nvmlPciInfoExt_t, 64)
NVS_SIZE(nvmlDeviceAttributes_t, 40)
NVS_SIZE(nvmlEventData_t, 32)
NVS_SIZE(nvmlFieldValue_t, 40)
NVS_SIZE(nvmlSample_t, 16)
NVS_SIZE(nvmlValue_t, 8)
NVS_SIZE(nvmlGpuInstanceInfo_t, 24)
NVS_SIZE(nvmlComputeInstanceInfo_t, 32)
NVS_SIZE(nvmlGpuInstanceProfileInfo_t, 48)
NVS_SIZE(nvmlTemperature_t, 12)
NVS_SIZE(nvmlUUID_t, 52)
#undef NVS_SIZE

static_assert(offsetof(CUmemAllocationProp, allocFlags.usage) == 26);
static_assert(offsetof(CUlaunchConfig, attrs) == 40);
static_assert(offsetof(CUDA_MEMCPY3D, dstXInBytes) == 88);
static_assert(offsetof(CUgraphNodeParams, kernel) == 16);
static_assert(offsetof(nvmlMemory_v2_t, total) == 8);
static_assert(offsetof(nvmlPciInfo_t, busId) == 36);
static_assert(alignof(CUtensorMap) == 128);
static_assert(CU_DEVICE_ATTRIBUTE_MAX == 148);
static_assert(nvmlMemory_v2 == 0x2000028);

std::set<std::string> cuda_entry_points() {
  return {
#define NVS_CUDA_ENTRY(symbol, name, since, streams) #symbol,
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
  };
}

std::set<std::string> cuda_functions() {
  return {
#define NVS_CUDA_FUNCTION(symbol, ...) #symbol,
#define NVS_CUDA_VARIANT(symbol, base) #symbol,
#include "spec/cuda_functions.def"
#undef NVS_CUDA_FUNCTION
#undef NVS_CUDA_VARIANT
  };
}

bool is_graphics_interop(const std::string& symbol) {
  for (const char* prefix : {"cuGL", "cuEGL", "cuVDPAU", "cuGraphicsGL", "cuGraphicsEGL",
                             "cuGraphicsVDPAU", "cuGraphicsResourceGetMappedEglFrame"}) {
    if (symbol.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

TEST(Abi, EveryTypedCudaFunctionIsAnEntryPoint) {
  const auto entries = cuda_entry_points();
  for (const auto& symbol : cuda_functions()) EXPECT_TRUE(entries.count(symbol)) << symbol;
}

TEST(Abi, OnlyGraphicsInteropAndUndocumentedEntryPointsHaveNoType) {
  const auto typed = cuda_functions();
  for (const auto& symbol : cuda_entry_points()) {
    if (typed.count(symbol) || is_graphics_interop(symbol)) continue;
    EXPECT_TRUE(symbol.rfind("cuMemGetAttribute", 0) == 0) << symbol;
  }
}

TEST(Abi, EveryTypedNvmlFunctionIsAnEntryPoint) {
  const std::set<std::string> entries = {
#define NVS_NVML_ENTRY(symbol) #symbol,
#include "spec/nvml_entry_points.def"
#undef NVS_NVML_ENTRY
  };
  const std::set<std::string> functions = {
#define NVS_NVML_FUNCTION(type, symbol, ...) #symbol,
#include "spec/nvml_functions.def"
#undef NVS_NVML_FUNCTION
  };
  EXPECT_FALSE(functions.empty());
  for (const auto& symbol : functions) EXPECT_TRUE(entries.count(symbol)) << symbol;
}

TEST(Abi, AliasesOfDeviceAttributesNameAValueThatHasARow) {
  const std::set<int> values = {
#define NVS_CUDA_DEVICE_ATTRIBUTE(name, value) value,
#define NVS_CUDA_DEVICE_ATTRIBUTE_ALIAS(name, value)
#include "spec/cuda_device_attributes.def"
#undef NVS_CUDA_DEVICE_ATTRIBUTE
#undef NVS_CUDA_DEVICE_ATTRIBUTE_ALIAS
  };
#define NVS_CUDA_DEVICE_ATTRIBUTE(name, value)
#define NVS_CUDA_DEVICE_ATTRIBUTE_ALIAS(name, value) EXPECT_TRUE(values.count(value)) << #name;
#include "spec/cuda_device_attributes.def"
#undef NVS_CUDA_DEVICE_ATTRIBUTE
#undef NVS_CUDA_DEVICE_ATTRIBUTE_ALIAS
}

}  // namespace
