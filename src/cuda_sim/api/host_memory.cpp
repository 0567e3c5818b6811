// SPDX-License-Identifier: Apache-2.0
// Entry points: host memory the GPU can reach, allocated by the driver or registered by the
// program.
#include <sys/mman.h>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/memory_rules.h"
#include "cuda_sim/memory/host_pages.h"

using namespace nvs::sim;

namespace {

constexpr unsigned kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

std::size_t mapped_size(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

CUresult allocate(void** out, std::size_t bytes, unsigned flags) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  if ((flags & ~kAllocFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = refuse_in_capture(d); result != CUDA_SUCCESS) return result;
  if (bytes == 0) {  // measured on an H200: unlike device memory, nothing may be asked for
    *out = nullptr;
    return CUDA_SUCCESS;
  }
  if (bytes > std::size_t{1} << 46) return CUDA_ERROR_OUT_OF_MEMORY;
  void* memory = ::mmap(nullptr, mapped_size(bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  d.space.add_host({.begin = address_of(memory),
                    .size = bytes,
                    .flags = flags | CU_MEMHOSTALLOC_DEVICEMAP,
                    .registered = false,
                    .context = context->key});
  *out = memory;
  return CUDA_SUCCESS;
}

// Host memory goes back when the context it was made in has done all its work.
CUresult wait_for_owner(Driver& d, std::unique_lock<std::mutex>& guard, const HostRange& range) {
  const auto owner = context_of(d, range.context);
  return owner ? wait_for_users(guard, *owner) : CUDA_SUCCESS;
}

}  // namespace

NVS_SIM(cuMemHostAlloc, (void** out, size_t bytes, unsigned int flags), out, bytes, flags) {
  return allocate(out, bytes, flags);
}

NVS_SIM(cuMemAllocHost_v2, (void** out, size_t bytes), out, bytes) {
  return allocate(out, bytes, 0);
}

NVS_SIM(cuMemFreeHost, (void* pointer), pointer) {
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  if (const CUresult result = refuse_unusable_context(d); result != CUDA_SUCCESS) return result;
  if (pointer == nullptr) return CUDA_SUCCESS;
  const HostRange* found = d.space.find_host(address_of(pointer));
  if (found == nullptr || found->begin != address_of(pointer) || found->registered ||
      found->managed) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const HostRange range = *found;
  if (const CUresult result = wait_for_owner(d, guard, range); result != CUDA_SUCCESS) {
    return result;
  }
  d.space.remove_host(range.begin);
  ::munmap(pointer, mapped_size(range.size));
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemHostRegister_v2, (void* pointer, size_t bytes, unsigned int flags), pointer, bytes,
        flags) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  if (pointer == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0) return CUDA_ERROR_NOT_PERMITTED;
  const std::uint64_t begin = address_of(pointer);
  if (const HostRange* known = d.space.first_host_in(begin, bytes); known != nullptr) {
    return known->registered ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_ERROR_INVALID_VALUE;
  }
  if (d.space.any_in(begin, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const HostUse use = (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0 ? HostUse::read : HostUse::write;
  if (!host_memory_allows(begin, bytes, use)) return CUDA_ERROR_INVALID_VALUE;
  d.space.add_host({.begin = begin,
                    .size = bytes,
                    .flags = CU_MEMHOSTALLOC_DEVICEMAP |
                             (flags & CU_MEMHOSTREGISTER_PORTABLE ? CU_MEMHOSTALLOC_PORTABLE : 0U),
                    .registered = true,
                    .context = context->key});
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemHostUnregister, (void* pointer), pointer) {
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  if (const CUresult result = refuse_unusable_context(d); result != CUDA_SUCCESS) return result;
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const HostRange* found = d.space.find_host(address_of(pointer));
  if (found == nullptr) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  if (found->begin != address_of(pointer) || !found->registered) return CUDA_ERROR_INVALID_VALUE;
  const HostRange range = *found;
  if (const CUresult result = wait_for_owner(d, guard, range); result != CUDA_SUCCESS) {
    return result;
  }
  d.space.remove_host(range.begin);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemHostGetDevicePointer_v2, (CUdeviceptr * out, void* pointer, unsigned int flags), out,
        pointer, flags) {
  if (out == nullptr || pointer == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  const HostRange* range = d.space.find_host(address_of(pointer));
  if (range == nullptr || range->managed) return CUDA_ERROR_INVALID_VALUE;
  *out = address_of(pointer);
  return CUDA_SUCCESS;
}

NVS_SIM(cuMemHostGetFlags, (unsigned int* flags, void* pointer), flags, pointer) {
  if (flags == nullptr || pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  const HostRange* range = d.space.find_host(address_of(pointer));
  if (range == nullptr || range->managed) return CUDA_ERROR_INVALID_VALUE;
  *flags = range->flags;
  return CUDA_SUCCESS;
}
