// SPDX-License-Identifier: Apache-2.0
// Entry points: virtual memory management: addresses and memory apart, joined by mapping.
#include "cuda_sim/api/call.h"

using namespace nvs::sim;

namespace {

// The GPU that a location means, if it means one.
std::optional<unsigned> gpu_at(const CUmemLocation& location) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return std::nullopt;
  return driver().gpu_of(location.id);
}

CUresult check_prop(const CUmemAllocationProp* prop) {
  if (prop == nullptr || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
      prop->location.type == CU_MEM_LOCATION_TYPE_HOST) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_WIN32) return CUDA_ERROR_INVALID_VALUE;
  return gpu_at(prop->location) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

// The mappings in [begin, begin + size), which lies in one reservation; none at all if one of them
// is cut. Measured on an H200: holes between them are no mistake.
std::optional<std::vector<Mapping*>> whole_mappings(Driver& d, std::uint64_t begin,
                                                    std::uint64_t size) {
  const std::uint64_t unit = d.granularity();
  if (size == 0 || begin % unit != 0 || size % unit != 0) return std::nullopt;
  const Reservation* reservation = d.space.reservation(begin, size);
  if (reservation == nullptr || reservation->whole_allocation) return std::nullopt;
  std::vector<Mapping*> found = d.space.mappings_in(begin, size);
  if (found.empty()) return found;
  if (found.front()->begin < begin || found.back()->end() > begin + size) return std::nullopt;
  return found;
}

// Measured on an H200: a handle that the program released can be mapped again for as long as it is
// mapped anywhere.
std::shared_ptr<Physical> memory_of(Driver& d, CUmemGenericAllocationHandle handle) {
  if (const auto it = d.vmm_handles.find(handle); it != d.vmm_handles.end()) {
    return it->second.physical;
  }
  for (const auto& [begin, mapping] : d.space.mappings()) {
    if (mapping.kind == MemoryKind::vmm && mapping.vmm_handle == handle) return mapping.physical;
  }
  return nullptr;
}

CUresult check_access(const CUmemAccessDesc& wanted) {
  if (!gpu_at(wanted.location)) return CUDA_ERROR_INVALID_VALUE;
  switch (wanted.flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void drop_reference(Driver& d, CUmemGenericAllocationHandle handle) {
  const auto it = d.vmm_handles.find(handle);
  if (--it->second.references == 0) d.vmm_handles.erase(it);
}

}  // namespace

NVS_SIM(cuMemGetAllocationGranularity,
        (size_t * granularity, const CUmemAllocationProp* prop,
         CUmemAllocationGranularity_flags option),
        granularity, prop, option) {
  // Measured on an H200: whether memory of these properties could be had is not looked at.
  if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) return CUDA_ERROR_INVALID_VALUE;
  *granularity = driver().granularity();
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemAddressReserve,
        (CUdeviceptr * out, size_t size, size_t alignment, CUdeviceptr hint,
         unsigned long long flags),
        out, size, alignment, hint, flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::uint64_t unit = d.granularity();
  if (size == 0 || size % unit != 0 || hint % unit != 0) return CUDA_ERROR_INVALID_VALUE;
  if (alignment != 0 && (alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard guard{d.lock};
  const std::uint64_t begin =
      d.space.reserve(size, std::max<std::uint64_t>(alignment, unit), hint, false);
  if (begin == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = begin;
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemAddressFree, (CUdeviceptr begin, size_t size), begin, size) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const Reservation* reservation = d.space.reservation(begin, size);
  if (reservation == nullptr || reservation->whole_allocation || reservation->begin != begin ||
      reservation->size != size || d.space.any_in(begin, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  d.space.release(begin, size);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemCreate,
        (CUmemGenericAllocationHandle * out, size_t size, const CUmemAllocationProp* prop,
         unsigned long long flags),
        out, size, prop, flags) {
  if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_prop(prop); result != CUDA_SUCCESS) return result;
  Driver& d = driver();
  if (size == 0 || size % d.granularity() != 0) return CUDA_ERROR_INVALID_VALUE;
  const unsigned gpu = *gpu_at(prop->location);
  const bool exportable =
      (prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0;
  {
    const std::lock_guard guard{d.lock};
    Arena* arena = d.arena(gpu);
    if (arena == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    auto physical = Physical::create(*d.machine, *arena, gpu, size,
                                     exportable ? Exportable::yes : Exportable::no);
    if (!physical) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = next_handle();
    d.vmm_handles[*out] = {.physical = std::move(physical), .prop = *prop};
  }
  d.spend(d.machine->model().vmm_create, size);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemRelease, (CUmemGenericAllocationHandle handle), handle) {
  Driver& d = driver();
  std::uint64_t bytes = 0;
  {
    const std::lock_guard guard{d.lock};
    const auto it = d.vmm_handles.find(handle);
    if (it == d.vmm_handles.end()) return CUDA_ERROR_INVALID_VALUE;
    bytes = it->second.physical->bytes();
    drop_reference(d, handle);
  }
  d.spend(d.machine->model().vmm_release, bytes);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemMap,
        (CUdeviceptr begin, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
         unsigned long long flags),
        begin, size, offset, handle, flags) {
  Driver& d = driver();
  {
    const std::lock_guard guard{d.lock};
    auto physical = memory_of(d, handle);
    if (physical == nullptr || flags != 0 || size == 0) return CUDA_ERROR_INVALID_VALUE;
    // Only whole handles can be mapped, and only where a granule begins.
    if (offset != 0 || size != physical->bytes() || begin % d.granularity() != 0) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    const Reservation* reservation = d.space.reservation(begin, size);
    if (reservation == nullptr || reservation->whole_allocation || d.space.any_in(begin, size)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Mapping mapping;
    mapping.begin = begin;
    mapping.size = size;
    mapping.kind = MemoryKind::vmm;
    mapping.physical = std::move(physical);
    mapping.vmm_handle = handle;
    d.space.map(std::move(mapping));
  }
  d.spend(d.machine->model().vmm_map, size);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemUnmap, (CUdeviceptr begin, size_t size), begin, size) {
  Driver& d = driver();
  std::size_t chunks = 0;
  {
    const std::lock_guard guard{d.lock};
    const auto mappings = whole_mappings(d, begin, size);
    if (!mappings) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& [handle, context] : d.contexts.all()) {
      if (const char* user = context->engine->user_of(begin, size); user != nullptr) {
        d.machine->record_violation(std::string("cuMemUnmap of memory that ") + user +
                                    " in flight still uses");
      }
    }
    chunks = mappings->size();
    for (const Mapping* mapping : *mappings) d.space.unmap(mapping->begin);
  }
  const Cost& cost = d.machine->model().vmm_unmap;
  d.spend({cost.base_ns * static_cast<double>(chunks), cost.ns_per_mib}, size);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemSetAccess,
        (CUdeviceptr begin, size_t size, const CUmemAccessDesc* descriptors, size_t count), begin,
        size, descriptors, count) {
  if (descriptors == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  std::size_t chunks = 0;
  {
    const std::lock_guard guard{d.lock};
    // Measured on an H200: there may be holes inside the range, but not at its ends.
    const auto mappings = whole_mappings(d, begin, size);
    if (!mappings || mappings->empty() || mappings->front()->begin != begin ||
        mappings->back()->end() != begin + size) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (const CUresult result = check_access(descriptors[i]); result != CUDA_SUCCESS) {
        return result;
      }
    }
    for (Mapping* mapping : *mappings) {
      for (std::size_t i = 0; i < count; ++i) {
        mapping->access[*gpu_at(descriptors[i].location)] =
            static_cast<Access>(descriptors[i].flags);
      }
    }
    chunks = mappings->size();
  }
  const Cost& cost = d.machine->model().vmm_access;
  d.spend({cost.base_ns * static_cast<double>(chunks), cost.ns_per_mib}, size);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemGetAccess,
        (unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address), flags,
        location, address) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  if (!gpu_at(*location)) return CUDA_ERROR_INVALID_DEVICE;
  const Mapping* mapping = d.space.find(address);
  if (mapping == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = static_cast<unsigned long long>(mapping->access[*gpu_at(*location)]);
  return CUDA_SUCCESS;
}
