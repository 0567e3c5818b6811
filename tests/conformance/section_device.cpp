// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void ordinals(Run& run) {
  int count = 0;
  CUdevice device = -7;
  CALL("", cuDeviceGetCount, &count);
  run.show("at least one", count >= 1);
  CALL("null", cuDeviceGetCount, nullptr);
  CALL("0", cuDeviceGet, &device, 0);
  run.show("device", device);
  CALL("-1", cuDeviceGet, &device, -1);
  CALL("count", cuDeviceGet, &device, count);
  CALL("1000000", cuDeviceGet, &device, 1000000);
  CALL("null", cuDeviceGet, nullptr, 0);
  run.show("device is untouched by failures", device);
}

void name(Run& run) {
  char text[256] = "";
  CALL("256 bytes", cuDeviceGetName, text, 256, 0);
  run.show("name", text);
  std::memset(text, '#', sizeof text);
  CALL("5 bytes", cuDeviceGetName, text, 5, 0);
  run.show("cut name", text);
  run.show("byte after it is untouched", text[5] == '#');
  std::memset(text, '#', sizeof text);
  CALL("1 byte", cuDeviceGetName, text, 1, 0);
  run.show("first byte is zero", text[0] == 0);
  CALL("device -1", cuDeviceGetName, text, 256, -1);
  CALL("device 99", cuDeviceGetName, text, 256, 99);
}

void total_memory(Run& run) {
  std::size_t bytes = 0;
  CALL("", cuDeviceTotalMem_v2, &bytes, 0);
  run.show("total in MiB", bytes / kMiB);
  CALL("null", cuDeviceTotalMem_v2, nullptr, 0);
  CALL("device -1", cuDeviceTotalMem_v2, &bytes, -1);
  CALL("device 99", cuDeviceTotalMem_v2, &bytes, 99);
}

// Attributes that name a place in the machine and not a property of the GPU.
bool is_place(CUdevice_attribute attribute) {
  constexpr CUdevice_attribute kPlaces[] = {
      CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,    CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
      CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID,
      CU_DEVICE_ATTRIBUTE_NUMA_ID,       CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID,
  };
  return std::find(std::begin(kPlaces), std::end(kPlaces), attribute) != std::end(kPlaces);
}

void attribute(Run& run, const char* name, CUdevice_attribute attribute) {
  int value = -77;
  const CUresult result = run.driver().cuDeviceGetAttribute(&value, attribute, 0);
  std::string text = result == CUDA_SUCCESS ? cat(value) : result_name(result);
  if (is_place(attribute) && result == CUDA_SUCCESS) text = "some value";
  run.show(name, text);
}

void attributes(Run& run) {
#define NVS_CUDA_DEVICE_ATTRIBUTE(name, number) attribute(run, #name, name);
#define NVS_CUDA_DEVICE_ATTRIBUTE_ALIAS(name, number)
#include "spec/cuda_device_attributes.def"
#undef NVS_CUDA_DEVICE_ATTRIBUTE
#undef NVS_CUDA_DEVICE_ATTRIBUTE_ALIAS
}

void bad_attributes(Run& run) {
  int value = 0;
  for (const int number : {0, -1, 148, 1000, 100000})
    CALL(cat("attribute ", number), cuDeviceGetAttribute, &value,
         as_enum<CUdevice_attribute>(number), 0);
  CALL("null", cuDeviceGetAttribute, nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
  CALL("device -1", cuDeviceGetAttribute, &value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, -1);
  CALL("device 99", cuDeviceGetAttribute, &value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99);
}

void uuid(Run& run) {
  CUuuid first{};
  CUuuid second{};
  CALL("", cuDeviceGetUuid, &first, 0);
  CALL("", cuDeviceGetUuid_v2, &second, 0);
  run.show("both are equal", std::memcmp(&first, &second, sizeof first) == 0);
  const CUuuid zero{};
  run.show("not zero", std::memcmp(&first, &zero, sizeof first) != 0);
  CALL("null", cuDeviceGetUuid_v2, nullptr, 0);
  CALL("device 99", cuDeviceGetUuid_v2, &second, 99);
  char luid[8] = {};
  unsigned mask = 0;
  CALL("", cuDeviceGetLuid, luid, &mask, 0);
}

void pci(Run& run) {
  char text[32] = "";
  CALL("32 bytes", cuDeviceGetPCIBusId, text, 32, 0);
  run.show("length", std::strlen(text));
  CUdevice device = -7;
  CALL("round trip", cuDeviceGetByPCIBusId, &device, text);
  run.show("device", device);
  CALL("no such slot", cuDeviceGetByPCIBusId, &device, "ffff:ff:1f.0");
  CALL("no address", cuDeviceGetByPCIBusId, &device, "nonsense");
  CALL("empty", cuDeviceGetByPCIBusId, &device, "");
  CALL("null name", cuDeviceGetByPCIBusId, &device, nullptr);
  CALL("null device", cuDeviceGetByPCIBusId, nullptr, text);
  CALL("12 bytes", cuDeviceGetPCIBusId, text, 12, 0);
  CALL("0 bytes", cuDeviceGetPCIBusId, text, 0, 0);
  CALL("null", cuDeviceGetPCIBusId, nullptr, 32, 0);
  CALL("device 99", cuDeviceGetPCIBusId, text, 32, 99);
}

void peers(Run& run) {
  int value = -7;
  CALL("to itself", cuDeviceCanAccessPeer, &value, 0, 0);
  run.show("can access", value);
  CALL("null", cuDeviceCanAccessPeer, nullptr, 0, 0);
  CALL("device 99", cuDeviceCanAccessPeer, &value, 0, 99);
  CALL("to itself", cuDeviceGetP2PAttribute, &value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0,
       0);
  CALL("device 99", cuDeviceGetP2PAttribute, &value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0,
       99);
}

void old_queries(Run& run) {
  int major = 0;
  int minor = 0;
  CALL("", cuDeviceComputeCapability, &major, &minor, 0);
  run.show("capability", cat(major, ".", minor));
  CALL("null", cuDeviceComputeCapability, nullptr, &minor, 0);
  CALL("device 99", cuDeviceComputeCapability, &major, &minor, 99);
  CUdevprop properties{};
  CALL("", cuDeviceGetProperties, &properties, 0);
  run.show("maxThreadsPerBlock", properties.maxThreadsPerBlock);
  run.show("SIMDWidth", properties.SIMDWidth);
  run.show("memPitch", properties.memPitch);
  run.show("clockRate", properties.clockRate);
  CALL("null", cuDeviceGetProperties, nullptr, 0);
  int supported = -7;
  CALL("SM count", cuDeviceGetExecAffinitySupport, &supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0);
  run.show("supported", supported);
}

}  // namespace

Section device_section() {
  return {"device",
          Start::kInit,
          {
              {"ordinals", ordinals},
              {"name", name},
              {"total_memory", total_memory},
              {"attributes", attributes},
              {"bad_attributes", bad_attributes},
              {"uuid", uuid},
              {"pci", pci},
              {"peers", peers},
              {"old_queries", old_queries},
          }};
}

}  // namespace nvs::conformance
