// SPDX-License-Identifier: Apache-2.0
// Entry points: managed memory, where it is to be, and what is known of that.
#include <algorithm>

#include "cuda_sim/api/call.h"
#include "cuda_sim/objects/managed_memory.h"
#include "cuda_sim/work/prefetch_op.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace {

// A place as managed memory knows it: a GPU of the machine, or kOnHost.
CUresult place_of(const Driver& d, CUdevice device, int& out) {
  if (device == CU_DEVICE_CPU) {
    out = kOnHost;
    return CUDA_SUCCESS;
  }
  const auto gpu = d.gpu_of(device);
  if (!gpu) return CUDA_ERROR_INVALID_DEVICE;
  out = static_cast<int>(*gpu);
  return CUDA_SUCCESS;
}

// Nodes of the host's memory are all one here.
CUresult place_of(const Driver& d, const CUmemLocation& location, int& out) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return location.id < 0 ? CUDA_ERROR_INVALID_DEVICE : place_of(d, location.id, out);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      out = kOnHost;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult prefetch(CUdeviceptr address, std::size_t count, int target, CUstream handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  if (count == 0 || managed_range(d, address, count) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) return invalidate(*stream->capture);  // graphs have no node for it
  enqueue(*stream, std::make_shared<PrefetchOp>(d, Range{address, count}, target));
  return CUDA_SUCCESS;
}

void set_mapped(ManagedBlock& block, int place, bool mapped) {
  if (place == kOnHost) {
    block.host_maps_it = mapped;
  } else {
    block.gpus_that_map_it.set(static_cast<std::size_t>(place), mapped);
  }
}

CUresult advise(ManagedBlock& block, CUmem_advise advice, int place) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      block.read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      block.preferred = place;
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      block.preferred = kAnywhere;
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      set_mapped(block, place, advice == CU_MEM_ADVISE_SET_ACCESSED_BY);
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Whether the advice is about a place at all.
bool names_place(CUmem_advise advice) {
  return advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
         advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

template <class Place>
CUresult advise(CUdeviceptr address, std::size_t count, CUmem_advise advice, const Place& wanted) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  int place = kAnywhere;
  if (names_place(advice)) {
    if (const CUresult result = place_of(d, wanted, place); result != CUDA_SUCCESS) return result;
  }
  ManagedRange* range = count != 0 ? managed_range(d, address, count) : nullptr;
  if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (ManagedBlock& block : blocks_in(d, *range, address, count)) {
    if (const CUresult result = advise(block, advice, place); result != CUDA_SUCCESS) {
      return result;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM(cuMemAllocManaged, (CUdeviceptr * out, size_t bytes, unsigned int flags), out, bytes,
        flags) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  {
    const std::lock_guard guard{d.lock};
    NVS_SIM_CONTEXT(context)
    if (bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult result = refuse_in_capture(d); result != CUDA_SUCCESS) return result;
    const std::uint64_t address = allocate_managed(d, *context, bytes);
    if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = address;
  }
  d.spend(d.machine->model().alloc, 0);
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuMemPrefetchAsync, _ptsz,
               (CUdeviceptr address, size_t count, CUdevice device, CUstream stream), address,
               count, device, stream) {
  int target = kOnHost;
  const CUresult result = place_of(driver(), device, target);
  return result == CUDA_SUCCESS ? prefetch(address, count, target, stream) : result;
}

NVS_SIM_STREAM(cuMemPrefetchAsync_v2, _ptsz,
               (CUdeviceptr address, size_t count, CUmemLocation location, unsigned int flags,
                CUstream stream),
               address, count, location, flags, stream) {
  int target = kOnHost;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = place_of(driver(), location, target);
  return result == CUDA_SUCCESS ? prefetch(address, count, target, stream) : result;
}

NVS_SIM(cuMemAdvise, (CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device),
        address, count, advice, device) {
  return advise(address, count, advice, device);
}

NVS_SIM(cuMemAdvise_v2,
        (CUdeviceptr address, size_t count, CUmem_advise advice, CUmemLocation location), address,
        count, advice, location) {
  return advise(address, count, advice, location);
}

// Every GPU may use managed memory at any time, so that attaching it to a stream changes nothing.
NVS_SIM_STREAM(cuStreamAttachMemAsync, _ptsz,
               (CUstream handle, CUdeviceptr address, size_t length, unsigned int flags), handle,
               address, length, flags) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  const ManagedRange* range = managed_range(d, address, 1);
  const bool whole =
      range != nullptr && range->begin == address && (length == 0 || length == range->size);
  const bool known =
      flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST || flags == CU_MEM_ATTACH_SINGLE;
  if (!whole || !known) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) return invalidate(*stream->capture);
  enqueue(*stream, std::make_shared<Marker>("an attachment"));
  return CUDA_SUCCESS;
}
