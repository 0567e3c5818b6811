// SPDX-License-Identifier: Apache-2.0
// Hooks: pools of memory. The driver makes and ends them and keeps what programs set; to what it
// says that they have is added what they have of us.
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/ordered_pools.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/resolve/libc.h"

namespace nvs::interposer::memory {
namespace {

// Nothing for attributes that are no amounts.
std::uint64_t amount_of(const swap::PoolUsage& usage, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return usage.reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return usage.reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return usage.used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return usage.used_high;
    default:
      return 0;
  }
}

void note_attribute(std::uint64_t pool, CUmemPool_attribute attribute, const void* value) {
  const libc::NoCancel no_cancel;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return swap::pool_threshold_set(pool, *static_cast<const cuuint64_t*>(value));
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return swap::forget_high(pool, swap::High::reserved);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return swap::forget_high(pool, swap::High::used);
    default:
      return;
  }
}

CUresult made_current(CUresult result, CUmemoryPool pool, int device) {
  if (result == CUDA_SUCCESS) swap::pool_made_current(number_of(pool), device);
  return result;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;
namespace swap = interposer::swap;

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  const CUresult result = real<Row::cuMemPoolCreate>()(pool, poolProps);
  if (result == CUDA_SUCCESS) {
    const interposer::libc::NoCancel no_cancel;
    swap::pool_created(number_of(*pool), *poolProps);
  }
  return result;
}

// Its handle may name another one at once, so it is forgotten first. One that the driver does not
// end gives out the driver's own memory from then on; default pools never end.
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  {
    const interposer::libc::NoCancel no_cancel;
    if (!swap::is_default_pool(number_of(pool))) swap::pool_ends(number_of(pool));
  }
  return real<Row::cuMemPoolDestroy>()(pool);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
  const CUresult result = real<Row::cuMemPoolTrimTo>()(pool, minBytesToKeep);
  if (result == CUDA_SUCCESS) swap::trim_pool(number_of(pool), minBytesToKeep);
  return result;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  const CUresult result = real<Row::cuMemPoolGetAttribute>()(pool, attr, value);
  if (result != CUDA_SUCCESS) return result;
  const interposer::libc::NoCancel no_cancel;
  const std::uint64_t ours = amount_of(swap::pool_usage(number_of(pool)), attr);
  if (ours != 0) *static_cast<cuuint64_t*>(value) += ours;
  return result;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  const CUresult result = real<Row::cuMemPoolSetAttribute>()(pool, attr, value);
  if (result == CUDA_SUCCESS) note_attribute(number_of(pool), attr, value);
  return result;
}

// Devices may use all movable memory of another one, or none: more than was asked for. So nothing
// is taken away, where the pool may not be the only reason.
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  const CUresult result = real<Row::cuMemPoolSetAccess>()(pool, map, count);
  int device = kUnknownDevice;
  const interposer::libc::NoCancel no_cancel;
  if (result != CUDA_SUCCESS || !swap::find_pool_device(number_of(pool), device)) return result;
  for (size_t i = 0; i < count; ++i) {
    const bool is_device = map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (!is_device || map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) continue;
    swap::pool_enabled(device, map[i].location.id);
  }
  return result;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  return made_current(real<Row::cuDeviceSetMemPool>()(dev, pool), pool, dev);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  const CUresult result = real<Row::cuMemSetMemPool>()(location, type, pool);
  const bool is_device = result == CUDA_SUCCESS && type == CU_MEM_ALLOCATION_TYPE_PINNED &&
                         location->type == CU_MEM_LOCATION_TYPE_DEVICE;
  return is_device ? made_current(result, pool, location->id) : result;
}

}  // namespace nvs::hooks
