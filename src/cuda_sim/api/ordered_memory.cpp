// SPDX-License-Identifier: Apache-2.0
// Entry points: allocating and freeing in the order of a stream.
#include "cuda_sim/work/ordered_memory.h"

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/memory_rules.h"

using namespace nvs::sim;

namespace {

// A pool that has the memory answers from its books, at about the price of an event.
void spend_allocation(const Driver& d, bool grew, std::size_t bytes) {
  const Model& model = d.machine->model();
  if (grew) {
    d.spend(model.alloc, bytes);
  } else {
    d.spend(model.event_record_ns);
  }
}

// Memory nodes are not simulated, so that a capture cannot go on.
CUresult refuse_captured(const Stream& stream) {
  return stream.capture ? invalidate(*stream.capture) : CUDA_SUCCESS;
}

// `handle` null: the current pool of the stream's device.
CUresult allocate(CUdeviceptr* out, std::size_t bytes, const CUmemoryPool* handle,
                  CUstream stream_handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  OrderedMemory made;
  {
    const std::lock_guard guard{d.lock};
    NVS_SIM_FIND_STREAM(stream, stream_handle)
    const auto pool =
        handle != nullptr ? d.pools.find(*handle) : current_pool(d, stream->context->gpu);
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult result = refuse_captured(*stream); result != CUDA_SUCCESS) return result;
    *out = 0;
    if (bytes == 0) return CUDA_SUCCESS;
    made = allocate_ordered(d, pool, bytes, *stream);
    if (made.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = made.address;
  }
  spend_allocation(d, made.grew, bytes);
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM_STREAM(cuMemAllocAsync, _ptsz, (CUdeviceptr * out, size_t bytes, CUstream stream), out,
               bytes, stream) {
  return allocate(out, bytes, nullptr, stream);
}

NVS_SIM_STREAM(cuMemAllocFromPoolAsync, _ptsz,
               (CUdeviceptr * out, size_t bytes, CUmemoryPool pool, CUstream stream), out, bytes,
               pool, stream) {
  return allocate(out, bytes, &pool, stream);
}

NVS_SIM_STREAM(cuMemFreeAsync, _ptsz, (CUdeviceptr address, CUstream handle), address, handle) {
  Driver& d = driver();
  {
    const std::lock_guard guard{d.lock};
    NVS_SIM_FIND_STREAM(stream, handle)
    if (address == 0) return CUDA_SUCCESS;
    Mapping* mapping = d.space.find(address);
    if (mapping == nullptr || mapping->begin != address || mapping->being_freed) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (mapping->kind != MemoryKind::pool && mapping->kind != MemoryKind::plain) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult result = refuse_captured(*stream); result != CUDA_SUCCESS) return result;
    free_ordered(d, *mapping, *stream);
  }
  d.spend(d.machine->model().event_record_ns);
  return CUDA_SUCCESS;
}
