// SPDX-License-Identifier: Apache-2.0
// Entry points: VMM handles: looking at them, and passing them to other processes.
#include "cuda_sim/api/call.h"

using namespace nvs::sim;

NVS_SIM(cuMemGetAllocationPropertiesFromHandle,
        (CUmemAllocationProp * prop, CUmemGenericAllocationHandle handle), prop, handle) {
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto it = d.vmm_handles.find(handle);
  if (it == d.vmm_handles.end()) return CUDA_ERROR_INVALID_VALUE;
  *prop = it->second.prop;
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemRetainAllocationHandle, (CUmemGenericAllocationHandle * out, void* address), out,
        address) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const Mapping* mapping = d.space.find(reinterpret_cast<std::uint64_t>(address));
  if (mapping == nullptr || mapping->kind != MemoryKind::vmm) return CUDA_ERROR_INVALID_VALUE;
  const auto it = d.vmm_handles.find(mapping->vmm_handle);
  if (it != d.vmm_handles.end()) {
    ++it->second.references;
  } else {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, d.device_of(mapping->physical->gpu())};
    if (mapping->physical->exportable()) {
      prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    }
    d.vmm_handles[mapping->vmm_handle] = {.physical = mapping->physical, .prop = prop};
  }
  *out = mapping->vmm_handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemExportToShareableHandle,
        (void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
         unsigned long long flags),
        out, handle, type, flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto it = d.vmm_handles.find(handle);
  if (it == d.vmm_handles.end()) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !it->second.physical->exportable()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int fd = it->second.physical->duplicate_fd();
  if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(out) = fd;
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemImportFromShareableHandle,
        (CUmemGenericAllocationHandle * out, void* os_handle, CUmemAllocationHandleType type), out,
        os_handle, type) {
  if (out == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto fd = static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
  auto physical = Physical::import(*d.machine, fd);
  if (!physical) return CUDA_ERROR_UNKNOWN;  // measured on an H200, for whatever is no handle
  CUmemAllocationProp prop{};  // measured on an H200: what is imported has no handle types
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, d.device_of(physical->gpu())};
  *out = next_handle();
  d.vmm_handles[*out] = {.physical = std::move(physical), .prop = prop};
  return CUDA_SUCCESS;
}
