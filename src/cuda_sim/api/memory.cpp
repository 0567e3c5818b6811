// SPDX-License-Identifier: Apache-2.0
// Entry points: plain device memory.
#include <algorithm>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/first_versions.h"
#include "cuda_sim/api/memory_rules.h"
#include "cuda_sim/objects/plain_memory.h"
#include "cuda_sim/work/graph_memory.h"
#include "cuda_sim/work/ordered_memory.h"

using namespace nvs::sim;

namespace {

constexpr std::size_t kPitch = 512;

CUresult allocate(CUdeviceptr* out, std::size_t bytes) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  NVS_SIM_CONTEXT(context)
  *out = 0;  // measured on an H200: a failure does not leave the old value
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = refuse_in_capture(d); result != CUDA_SUCCESS) return result;
  const std::uint64_t address = allocate_plain(d, *context, bytes);
  guard.unlock();
  d.spend(d.machine->model().alloc, bytes);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = address;
  return CUDA_SUCCESS;
}

// Any context may be using it.
CUresult free_managed(Driver& d, std::unique_lock<std::mutex>& guard, CUdeviceptr address) {
  std::vector<std::shared_ptr<Context>> contexts;
  for (const auto& [value, context] : d.contexts.all()) {
    if (!context->destroyed) contexts.push_back(context);
  }
  for (const auto& context : contexts) {
    if (const CUresult result = wait_for_users(guard, *context); result != CUDA_SUCCESS) {
      return result;
    }
  }
  if (!d.managed.contains(address)) return CUDA_ERROR_INVALID_VALUE;  // by another thread meanwhile
  nvs::sim::free_managed(d, address);
  guard.unlock();
  d.spend(d.machine->model().free, 0);
  return CUDA_SUCCESS;
}

}  // namespace

namespace nvs::sim {

// Freeing waits for all work of the context, as the driver does.
CUresult wait_for_users(std::unique_lock<std::mutex>& guard, Context& context) {
  context.engine->wait_all(guard);
  return context.sticky;
}

CUresult refuse_unusable_context(Driver& d) {
  const auto& stack = context_stack();
  if (stack.empty() || stack.back() == nullptr) return CUDA_SUCCESS;
  std::shared_ptr<Context> context;
  return current_context(d, context);
}

std::shared_ptr<Context> context_of(Driver& d, std::uint64_t key) {
  for (const auto& [handle, context] : d.contexts.all()) {
    if (context->key == key) return context;
  }
  return nullptr;
}

}  // namespace nvs::sim

NVS_SIM(cuMemAlloc_v2, (CUdeviceptr * out, size_t bytes), out, bytes) {
  return allocate(out, bytes);
}

NVS_SIM(cuMemAllocPitch_v2,
        (CUdeviceptr * out, size_t* pitch, size_t width, size_t height, unsigned int element), out,
        pitch, width, height, element) {
  if (pitch == nullptr || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t row = (width + kPitch - 1) / kPitch * kPitch;
  if (row < width || row * height / height != row) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = allocate(out, row * height);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

NVS_SIM(cuMemFree_v2, (CUdeviceptr address), address) {
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  // Measured on an H200: freeing needs no current context, because memory knows its own.
  if (const CUresult result = refuse_unusable_context(d); result != CUDA_SUCCESS) return result;
  if (const CUresult result = refuse_in_capture(d); result != CUDA_SUCCESS) return result;
  if (address == 0) return CUDA_SUCCESS;
  if (d.managed.contains(address)) return free_managed(d, guard, address);
  Mapping* mapping = d.space.find(address);
  if (mapping == nullptr || mapping->begin != address || mapping->being_freed) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (mapping->kind == MemoryKind::graph) return free_left(*mapping, nullptr);
  if (mapping->kind == MemoryKind::pool) return free_ordered(d, address);
  if (mapping->kind != MemoryKind::plain) return CUDA_ERROR_INVALID_VALUE;
  const auto owner = context_of(d, mapping->context);
  if (owner) {
    if (const CUresult result = wait_for_users(guard, *owner); result != CUDA_SUCCESS) {
      return result;
    }
  }
  free_plain(d, address);
  guard.unlock();
  d.spend(d.machine->model().free, 0);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemGetInfo_v2, (size_t * free, size_t* total), free, total) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  const std::uint64_t used = d.machine->used(context->gpu);
  const std::uint64_t capacity = d.machine->capacity();
  if (free != nullptr) *free = capacity - std::min(used, capacity);
  if (total != nullptr) *total = capacity;
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemGetAddressRange_v2, (CUdeviceptr * base, size_t* size, CUdeviceptr address), base,
        size, address) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  // Measured on an H200: who asks for nothing is not told that there is nothing.
  if (base == nullptr && size == nullptr) return CUDA_SUCCESS;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  if (const Mapping* mapping = d.space.find(address); mapping != nullptr) {
    begin = mapping->begin;
    bytes = mapping->size;
  } else if (const HostRange* host = d.space.find_host(address); host != nullptr) {
    begin = host->begin;
    bytes = host->size;
  } else {
    return CUDA_ERROR_NOT_FOUND;
  }
  if (base != nullptr) *base = begin;
  if (size != nullptr) *size = bytes;
  return CUDA_SUCCESS;
}

// Its checks are the driver's; the result would be a DMA buffer of the kernel, which only hardware
// has.
NVS_SIM(cuMemGetHandleForAddressRange,
        (void* out, CUdeviceptr address, size_t size, CUmemRangeHandleType type,
         unsigned long long flags),
        out, address, size, type, flags) {
  constexpr std::uint64_t kPage = 4096;
  if (out == nullptr || flags != 0 || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (size == 0 || size % kPage != 0 || address % kPage != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const Mapping* mapping = d.space.find(address);
  if (mapping == nullptr || size > mapping->end() - address) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_ERROR_NOT_SUPPORTED;
}

namespace nvs::sim {

int answer_first_version(const char* symbol) {
  return enter(symbol, Needs::init, [] { return CUDA_ERROR_INVALID_CONTEXT; });
}

}  // namespace nvs::sim
