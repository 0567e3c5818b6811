// SPDX-License-Identifier: Apache-2.0
// Entry points: allocating and freeing in the order of a stream.
#include "cuda_sim/work/ordered_memory.h"

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/memory_rules.h"
#include "cuda_sim/work/graph_memory.h"
#include "cuda_sim/work/submit.h"

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

// Under capture they become nodes. One that is refused leaves the capture as it is (measured on an
// H200).
CUresult capture_allocation(Driver& d, Stream& stream, unsigned gpu, std::size_t bytes,
                            CUdeviceptr& out) {
  if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  MemAllocWork work;
  const CUresult result =
      allocation_work(d, *stream.capture->graph, stream.capture_tail, gpu, bytes, work);
  if (result != CUDA_SUCCESS) return result;
  out = work.slot->begin;
  return capture(d, stream, std::move(work));
}

CUresult capture_free(Driver& d, Stream& stream, CUdeviceptr address) {
  if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  MemFreeWork work;
  const CUresult result = free_work(*stream.capture->graph, address, work);
  return result == CUDA_SUCCESS ? capture(d, stream, std::move(work)) : result;
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
    if (stream->capture) return capture_allocation(d, *stream, pool->gpu(), bytes, *out);
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
    if (stream->capture) return capture_free(d, *stream, address);
    Mapping* mapping = d.space.find(address);
    if (mapping == nullptr || mapping->begin != address || mapping->being_freed) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (mapping->kind == MemoryKind::graph) return free_left(*mapping, stream.get());
    if (mapping->kind != MemoryKind::pool && mapping->kind != MemoryKind::plain) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    free_ordered(d, *mapping, *stream);
  }
  d.spend(d.machine->model().event_record_ns);
  return CUDA_SUCCESS;
}
