// SPDX-License-Identifier: Apache-2.0
// Entry points: what an address is.
#include <algorithm>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/memory_rules.h"
#include "cuda_sim/objects/memory_pool.h"

using namespace nvs::sim;

namespace {

// An address as the driver knows it: device memory, host memory it pinned, or neither.
struct Known {
  Mapping* mapping = nullptr;
  const HostRange* host = nullptr;
  std::shared_ptr<Context> context;
  Range range;  // what the program asked for
  Range block;  // what the driver mapped for it

  bool any() const { return mapping != nullptr || host != nullptr; }
  bool is_managed() const { return host != nullptr && host->managed; }
  bool is_vmm() const { return mapping != nullptr && mapping->kind == MemoryKind::vmm; }
  Access own_access() const { return mapping->access[mapping->physical->gpu()]; }
};

Known look_up(Driver& d, CUdeviceptr address) {
  Known known;
  known.mapping = d.space.find(address);
  if (known.mapping != nullptr) {
    const Mapping& mapping = *known.mapping;
    known.context = context_of(d, mapping.context);
    known.range = {mapping.begin, mapping.size};
    known.block = {mapping.begin - mapping.offset, mapping.physical->bytes()};
    if (known.is_vmm()) {  // measured on an H200: the range is the whole reservation
      const Reservation* reservation = d.space.reservation(address, 1);
      known.range = {reservation->begin, reservation->size};
    } else if (mapping.kind == MemoryKind::pool ||
               mapping.kind == MemoryKind::graph) {  // each allocation has addresses of its own
      known.block = known.range;
    }
    return known;
  }
  known.host = d.space.find_host(address);
  if (known.host == nullptr) return known;
  known.context = context_of(d, known.host->context);
  known.range = {known.host->begin, known.host->size};
  known.block = known.range;
  if (!known.host->registered) {
    const std::uint64_t unit = d.granularity();
    known.block.size = (known.range.size + unit - 1) / unit * unit;
  }
  return known;
}

template <class T>
CUresult answer(void* out, T value) {
  *static_cast<T*>(out) = value;
  return CUDA_SUCCESS;
}

CUresult identity(const Known& known, CUpointer_attribute attribute, CUdeviceptr address,
                  void* out) {
  const bool device = known.mapping != nullptr;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return answer<CUcontext>(out, known.context ? known.context->handle : nullptr);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return answer<unsigned>(
          out, device || known.is_managed() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      if (device && known.own_access() == Access::none) return CUDA_ERROR_INVALID_VALUE;
      return answer<CUdeviceptr>(out, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (device) return CUDA_ERROR_INVALID_VALUE;
      return answer<void*>(out, reinterpret_cast<void*>(address));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return answer<unsigned long long>(out,
                                        device ? known.mapping->buffer_id : known.host->buffer_id);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: {
      const unsigned gpu = device          ? known.mapping->physical->gpu()
                           : known.context ? known.context->gpu
                                           : 0;
      return answer<int>(out, driver().device_of(gpu));
    }
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return answer<CUdeviceptr>(out, known.range.begin);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return answer<std::size_t>(out, known.range.size);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return answer<CUdeviceptr>(out, known.block.begin);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return answer<std::size_t>(out, known.block.size);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return answer<unsigned long long>(out,
                                        device ? known.mapping->buffer_id : known.host->buffer_id);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult capability(const Known& known, CUpointer_attribute attribute, void* out) {
  const bool device = known.mapping != nullptr;
  const bool vmm = known.is_vmm();
  const bool pooled = device && known.mapping->pool != nullptr;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return answer<unsigned>(out, device && known.mapping->sync_memops ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return answer<unsigned>(out, known.is_managed() ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return answer<unsigned>(out, device && !vmm && !pooled ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return answer<unsigned>(out, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: {
      const bool exportable = vmm && known.mapping->physical->exportable();
      return answer<unsigned long long>(
          out, exportable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE);
    }
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return answer<unsigned>(out, device && !vmm && !pooled ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: {
      const unsigned flags = device ? static_cast<unsigned>(known.own_access())
                                    : unsigned{CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE};
      return answer<unsigned>(out, flags);
    }
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return answer<CUmemoryPool>(out, pooled ? known.mapping->pool->handle : nullptr);
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return answer<unsigned>(out, 0);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult attribute_of(const Known& known, CUpointer_attribute attribute, CUdeviceptr address,
                      void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return identity(known, attribute, address, out);
    default:
      return capability(known, attribute, out);
  }
}

bool is_attribute(CUpointer_attribute attribute) {
  return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT &&
         attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

}  // namespace

NVS_SIM(cuPointerGetAttribute, (void* out, CUpointer_attribute attribute, CUdeviceptr address), out,
        attribute, address) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const Known known = look_up(d, address);
  if (!known.any()) return CUDA_ERROR_INVALID_VALUE;
  return attribute_of(known, attribute, address, out);
}

// Unlike the single question, this one answers zeroes for an address that the driver does not know.
NVS_SIM(cuPointerGetAttributes,
        (unsigned int count, CUpointer_attribute* attributes, void** out, CUdeviceptr address),
        count, attributes, out, address) {
  if (count == 0 || attributes == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!std::all_of(attributes, attributes + count, is_attribute)) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const Known known = look_up(d, address);
  for (unsigned i = 0; i < count; ++i) {
    if (known.any() && attribute_of(known, attributes[i], address, out[i]) == CUDA_SUCCESS)
      continue;
    switch (attributes[i]) {
      case CU_POINTER_ATTRIBUTE_CONTEXT:
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        answer<void*>(out[i], nullptr);
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        answer<int>(out[i], CU_DEVICE_INVALID);
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        break;  // measured on an H200: these stay as the caller left them
      default:
        answer<unsigned>(out[i], 0);
        break;
    }
  }
  return CUDA_SUCCESS;
}

NVS_SIM(cuPointerSetAttribute,
        (const void* value, CUpointer_attribute attribute, CUdeviceptr address), value, attribute,
        address) {
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const Known known = look_up(d, address);
  if (!known.any()) return CUDA_ERROR_INVALID_VALUE;
  if (known.mapping != nullptr) {
    known.mapping->sync_memops = *static_cast<const unsigned*>(value) != 0;
  }
  return CUDA_SUCCESS;
}
