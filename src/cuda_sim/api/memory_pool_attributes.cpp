// SPDX-License-Identifier: Apache-2.0
// Entry points: how a pool of stream-ordered memory uses memory again, and how much it has.
#include <optional>

#include "cuda_sim/api/call.h"
#include "cuda_sim/objects/memory_pool.h"

using namespace nvs::sim;

namespace {

int* switch_of(MemoryPool& pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return &pool.reuse.follow_events;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      return &pool.reuse.opportunistic;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return &pool.reuse.internal_waiting;
    default:
      return nullptr;
  }
}

std::optional<cuuint64_t> amount_of(const MemoryPool& pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return pool.release_threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return pool.reserved();
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return pool.reserved_high();
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return pool.used();
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return pool.used_high();
    default:
      return std::nullopt;
  }
}

// The highest amounts can only be forgotten, by setting them to 0.
CUresult set_amount(MemoryPool& pool, CUmemPool_attribute attribute, cuuint64_t value) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      pool.release_threshold = value;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      if (value != 0) return CUDA_ERROR_INVALID_VALUE;
      pool.forget_reserved_high();
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (value != 0) return CUDA_ERROR_INVALID_VALUE;
      pool.forget_used_high();
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

NVS_SIM(cuMemPoolGetAttribute, (CUmemoryPool handle, CUmemPool_attribute attribute, void* value),
        handle, attribute, value) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto pool = d.pools.find(handle);
  if (!pool || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const int* wanted = switch_of(*pool, attribute); wanted != nullptr) {
    *static_cast<int*>(value) = *wanted;
    return CUDA_SUCCESS;
  }
  const auto amount = amount_of(*pool, attribute);
  if (!amount) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<cuuint64_t*>(value) = *amount;
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemPoolSetAttribute, (CUmemoryPool handle, CUmemPool_attribute attribute, void* value),
        handle, attribute, value) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto pool = d.pools.find(handle);
  if (!pool || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (int* wanted = switch_of(*pool, attribute); wanted != nullptr) {
    *wanted = *static_cast<const int*>(value) != 0 ? 1 : 0;
    return CUDA_SUCCESS;
  }
  if (!amount_of(*pool, attribute)) return CUDA_ERROR_INVALID_VALUE;
  return set_amount(*pool, attribute, *static_cast<const cuuint64_t*>(value));
}
