// SPDX-License-Identifier: Apache-2.0
// Entry points: what devices there are and what they can do.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

#include "cuda_sim/api/call.h"
#include "cuda_sim/config/device_attributes.h"
#include "cuda_sim/config/gpu_identity.h"

using namespace nvs::sim;

namespace {

bool is_device(CUdevice device) { return driver().gpu_of(device).has_value(); }

unsigned gpu_of(CUdevice device) { return *driver().gpu_of(device); }

CUresult uuid_of(CUuuid* uuid, CUdevice device) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const auto bytes = gpu_uuid(driver().machine->model().preset, gpu_of(device));
  std::memcpy(uuid->bytes, bytes.data(), bytes.size());
  return CUDA_SUCCESS;
}

// The forms that CUDA takes: domain:bus:device.function, domain:bus:device, bus:device.function.
std::optional<PciAddress> parse_pci(const char* text) {
  PciAddress pci;
  unsigned function = 0;
  int used = 0;
  const auto whole = [&] { return text[used] == '\0'; };
  if (std::sscanf(text, "%x:%x:%x.%x%n", &pci.domain, &pci.bus, &pci.device, &function, &used) ==
          4 &&
      whole()) {
    return pci;
  }
  if (std::sscanf(text, "%x:%x:%x%n", &pci.domain, &pci.bus, &pci.device, &used) == 3 && whole()) {
    return pci;
  }
  pci.domain = 0;
  if (std::sscanf(text, "%x:%x.%x%n", &pci.bus, &pci.device, &function, &used) == 3 && whole()) {
    return pci;
  }
  return std::nullopt;
}

int attribute_of(CUdevice_attribute attribute) {
  return device_attribute(driver().machine->model(), attribute).value_or(0);
}

}  // namespace

NVS_SIM(cuDeviceGetCount, (int* count), count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(driver().visible.size());
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceGet, (CUdevice * device, int ordinal), device, ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceGetName, (char* name, int len, CUdevice device), name, len, device) {
  if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<std::size_t>(len), "%s", driver().machine->model().device_name);
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), uuid, device) {
  return uuid_of(uuid, device);
}

NVS_SIM(cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device), uuid, device) {
  return uuid_of(uuid, device);
}

NVS_SIM(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device), bytes, device) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = driver().machine->capacity();
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceGetAttribute, (int* value, CUdevice_attribute attribute, CUdevice device), value,
        attribute, device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const auto found = device_attribute(driver().machine->model(), attribute);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *value = *found;
  if (attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED &&
      driver().faults.without_vmm) {
    *value = 0;
  }
  if (attribute == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID) {
    *value = static_cast<int>(gpu_pci(gpu_of(device)).device);
  }
  if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
    *value = static_cast<int>(gpu_pci(gpu_of(device)).bus);
  }
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceComputeCapability, (int* major, int* minor, CUdevice device), major, minor,
        device) {
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *major = driver().machine->model().capability_major;
  *minor = driver().machine->model().capability_minor;
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceGetPCIBusId, (char* text, int len, CUdevice device), text, len, device) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const std::string name = pci_text(gpu_pci(gpu_of(device)));
  if (len <= static_cast<int>(name.size())) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(text, name.c_str(), name.size() + 1);
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceGetByPCIBusId, (CUdevice * device, const char* text), device, text) {
  if (device == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto wanted = parse_pci(text);
  if (!wanted) return CUDA_ERROR_INVALID_VALUE;
  for (CUdevice candidate = 0; is_device(candidate); ++candidate) {
    if (gpu_pci(gpu_of(candidate)) != *wanted) continue;
    *device = candidate;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

NVS_SIM(cuDeviceCanAccessPeer, (int* can, CUdevice device, CUdevice peer), can, device, peer) {
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device) || !is_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
  *can = device != peer ? 1 : 0;
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceGetP2PAttribute,
        (int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice target), value,
        attribute, source, target) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(source) || !is_device(target) || source == target) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      *value = 1;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

NVS_SIM(cuDeviceTotalMem, (unsigned int* bytes, CUdevice device), bytes, device) {
  std::size_t whole = 0;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = cuDeviceTotalMem_v2(&whole, device);
  if (result != CUDA_SUCCESS) return result;
  *bytes = static_cast<unsigned>(std::min<std::size_t>(whole, ~0U));
  return CUDA_SUCCESS;
}

NVS_SIM(cuDeviceGetProperties, (CUdevprop * out, CUdevice device), out, device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *out = {.maxThreadsPerBlock = attribute_of(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
          .maxThreadsDim = {attribute_of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                            attribute_of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                            attribute_of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
          .maxGridSize = {attribute_of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
                          attribute_of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                          attribute_of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
          .sharedMemPerBlock = attribute_of(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
          .totalConstantMemory = attribute_of(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
          .SIMDWidth = attribute_of(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
          .memPitch = attribute_of(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
          .regsPerBlock = attribute_of(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
          .clockRate = attribute_of(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
          .textureAlign = attribute_of(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)};
  return CUDA_SUCCESS;
}

// Only MPS can tie a context to a share of the multiprocessors.
NVS_SIM(cuDeviceGetExecAffinitySupport, (int* supported, CUexecAffinityType type, CUdevice device),
        supported, type, device) {
  if (supported == nullptr || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *supported = 0;
  return CUDA_SUCCESS;
}
