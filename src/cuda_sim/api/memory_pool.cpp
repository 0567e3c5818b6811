// SPDX-License-Identifier: Apache-2.0
// Entry points: pools of stream-ordered memory. Passing pools to other processes is not simulated,
// nor are pools of host memory.
#include "cuda_sim/objects/memory_pool.h"

#include "cuda_sim/api/call.h"

using namespace nvs::sim;

namespace {

CUresult gpu_at(const Driver& d, const CUmemLocation& location, unsigned& out) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  const auto gpu = d.gpu_of(location.id);
  if (!gpu) return CUDA_ERROR_INVALID_DEVICE;
  out = *gpu;
  return CUDA_SUCCESS;
}

// The place that one of the calls for any kind of memory means.
CUresult gpu_for(const Driver& d, const CUmemLocation* location, CUmemAllocationType type,
                 unsigned& out) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_MEM_ALLOCATION_TYPE_MANAGED) return CUDA_ERROR_NOT_SUPPORTED;
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  return gpu_at(d, *location, out);
}

CUresult check_props(const Driver& d, const CUmemPoolProps& props, unsigned& gpu) {
  if (const CUresult result = gpu_for(d, &props.location, props.allocType, gpu);
      result != CUDA_SUCCESS) {
    return result;
  }
  return props.handleTypes == CU_MEM_HANDLE_TYPE_NONE ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

// With the lock held.
CUresult set_current(Driver& d, unsigned gpu, CUmemoryPool handle) {
  const auto pool = d.pools.find(handle);
  if (!pool || pool->gpu() != gpu) return CUDA_ERROR_INVALID_VALUE;
  d.current_pools[gpu] = pool;
  return CUDA_SUCCESS;
}

bool is_access(CUmemAccess_flags flags) {
  return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
         flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

// The pool's own GPU always has access.
CUresult check_access(const Driver& d, const MemoryPool& pool, const CUmemAccessDesc& wanted) {
  unsigned gpu = 0;
  if (const CUresult result = gpu_at(d, wanted.location, gpu); result != CUDA_SUCCESS) {
    return result;
  }
  const bool own = gpu == pool.gpu();
  const bool fits =
      is_access(wanted.flags) && (!own || wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult current_of(CUmemoryPool* out, unsigned gpu) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  *out = current_pool(d, gpu)->handle;
  return CUDA_SUCCESS;
}

CUresult default_of(CUmemoryPool* out, unsigned gpu) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  *out = default_pool(d, gpu).handle;
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM(cuDeviceGetDefaultMemPool, (CUmemoryPool * out, CUdevice device), out, device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto gpu = driver().gpu_of(device);
  return gpu ? default_of(out, *gpu) : CUDA_ERROR_INVALID_DEVICE;
}

NVS_SIM(cuDeviceGetMemPool, (CUmemoryPool * out, CUdevice device), out, device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto gpu = driver().gpu_of(device);
  return gpu ? current_of(out, *gpu) : CUDA_ERROR_INVALID_DEVICE;
}

NVS_SIM(cuDeviceSetMemPool, (CUdevice device, CUmemoryPool handle), device, handle) {
  Driver& d = driver();
  const auto gpu = d.gpu_of(device);
  if (!gpu) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard guard{d.lock};
  return set_current(d, *gpu, handle);
}

NVS_SIM(cuMemGetDefaultMemPool,
        (CUmemoryPool * out, CUmemLocation* location, CUmemAllocationType type), out, location,
        type) {
  unsigned gpu = 0;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = gpu_for(driver(), location, type, gpu);
  return result == CUDA_SUCCESS ? default_of(out, gpu) : result;
}

NVS_SIM(cuMemGetMemPool, (CUmemoryPool * out, CUmemLocation* location, CUmemAllocationType type),
        out, location, type) {
  unsigned gpu = 0;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = gpu_for(driver(), location, type, gpu);
  return result == CUDA_SUCCESS ? current_of(out, gpu) : result;
}

NVS_SIM(cuMemSetMemPool, (CUmemLocation * location, CUmemAllocationType type, CUmemoryPool handle),
        location, type, handle) {
  unsigned gpu = 0;
  Driver& d = driver();
  if (const CUresult result = gpu_for(d, location, type, gpu); result != CUDA_SUCCESS) {
    return result;
  }
  const std::lock_guard guard{d.lock};
  return set_current(d, gpu, handle);
}

NVS_SIM(cuMemPoolCreate, (CUmemoryPool * out, const CUmemPoolProps* props), out, props) {
  if (out == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  unsigned gpu = 0;
  if (const CUresult result = check_props(d, *props, gpu); result != CUDA_SUCCESS) return result;
  auto pool = std::make_shared<MemoryPool>(gpu, props->maxSize);
  pool->handle = d.pools.add(pool);
  *out = pool->handle;
  return CUDA_SUCCESS;
}

// What was allocated from it holds the pool until the last of it is freed.
NVS_SIM(cuMemPoolDestroy, (CUmemoryPool handle), handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto pool = d.pools.find(handle);
  if (!pool || pool == d.default_pools[pool->gpu()]) return CUDA_ERROR_INVALID_VALUE;
  if (d.current_pools[pool->gpu()] == pool) d.current_pools[pool->gpu()] = nullptr;
  d.pools.remove(handle);
  pool->trim_to(0);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemPoolTrimTo, (CUmemoryPool handle, size_t keep), handle, keep) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto pool = d.pools.find(handle);
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  pool->trim_to(keep);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemPoolSetAccess, (CUmemoryPool handle, const CUmemAccessDesc* wanted, size_t count),
        handle, wanted, count) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto pool = d.pools.find(handle);
  if (!pool || (wanted == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (const CUresult result = check_access(d, *pool, wanted[i]); result != CUDA_SUCCESS) {
      return result;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned gpu = *d.gpu_of(wanted[i].location.id);
    pool->access[gpu] = static_cast<Access>(wanted[i].flags);
    for (auto& [begin, mapping] : d.space.mappings()) {
      if (mapping.pool == pool) mapping.access[gpu] = pool->access[gpu];
    }
  }
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemPoolGetAccess,
        (CUmemAccess_flags * flags, CUmemoryPool handle, CUmemLocation* location), flags, handle,
        location) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto pool = d.pools.find(handle);
  unsigned gpu = 0;
  if (!pool) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = gpu_at(d, *location, gpu); result != CUDA_SUCCESS) return result;
  *flags = gpu == pool->gpu() ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                              : static_cast<CUmemAccess_flags>(pool->access[gpu]);
  return CUDA_SUCCESS;
}
