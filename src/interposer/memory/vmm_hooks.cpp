// SPDX-License-Identifier: Apache-2.0
// Hooks: virtual memory management, where memory and addresses are apart. The memory belongs to a
// device, and no context takes it along.
#include "interposer/memory/hook_support.h"

namespace nvs::interposer::memory {
namespace {

int device_of(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : kHostDevice;
}

int device_of_handle(CUmemGenericAllocationHandle handle) {
  CUmemAllocationProp prop{};
  auto* ask = real<Row::cuMemGetAllocationPropertiesFromHandle>();
  if (ask == nullptr || ask(&prop, handle) != CUDA_SUCCESS) return kUnknownDevice;
  return device_of(prop.location);
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
  const CUresult result = real<Row::cuMemCreate>()(handle, size, prop, flags);
  if (result != CUDA_SUCCESS || handle == nullptr || prop == nullptr) return result;
  const int device = device_of(prop->location);
  books().allocated({.space = Space::vmm_handle,
                     .kind = MemoryKind::vmm,
                     .id = *handle,
                     .bytes = size,
                     .owner = device_owner(device)},
                    device);
  return result;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType shHandleType) {
  const CUresult result =
      real<Row::cuMemImportFromShareableHandle>()(handle, osHandle, shHandleType);
  if (result != CUDA_SUCCESS || handle == nullptr) return result;
  const int device = device_of_handle(*handle);
  books().allocated({.space = Space::vmm_handle,
                     .kind = MemoryKind::ipc,
                     .again = Again::adds_reference,
                     .id = *handle,
                     .bytes = 0,  // the first mapping tells
                     .owner = device_owner(device)},
                    device);
  return result;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  const CUresult result = real<Row::cuMemRetainAllocationHandle>()(handle, addr);
  if (result == CUDA_SUCCESS && handle != nullptr) books().retained(*handle);
  return result;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return free_through(Space::vmm_handle, handle, [&] { return real<Row::cuMemRelease>()(handle); });
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  const CUresult result = real<Row::cuMemMap>()(ptr, size, offset, handle, flags);
  if (result == CUDA_SUCCESS) books().mapped(ptr, size, handle);
  return result;
}

// A range may hold any number of mappings, so they are not taken out first; the birth number tells
// those from before the call from any that another thread makes in the same place right after it.
CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  const Birth before = books().now();
  const CUresult result = real<Row::cuMemUnmap>()(ptr, size);
  if (result == CUDA_SUCCESS) books().unmapped(ptr, size, before);
  return result;
}

}  // namespace nvs::hooks
