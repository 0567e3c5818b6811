// SPDX-License-Identifier: Apache-2.0
// Entry points: plain memory passed between processes by value. The handle says where in
// the exporting process's arena the memory lies; the importing process opens that arena through
// /proc.
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/memory_rules.h"

using namespace nvs::sim;

namespace {

struct MemoryTicket {
  static constexpr std::uint64_t kMagic = 0x6e7673697063306d;  // "nvsipc0m"
  std::uint64_t magic = kMagic;
  std::int32_t pid = 0;
  std::int32_t fd = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t inside = 0;  // where the allocation begins in its block
  std::uint64_t shared_id = 0;
  std::uint32_t gpu = 0;
};
static_assert(sizeof(MemoryTicket) <= sizeof(CUipcMemHandle));

// Memory of another process is mapped once, however often it is opened.
Mapping* find_opened(Driver& d, std::uint64_t shared_id) {
  for (auto& [begin, mapping] : d.space.mappings()) {
    if (mapping.kind == MemoryKind::ipc && mapping.physical->shared_id() == shared_id) {
      return &mapping;
    }
  }
  return nullptr;
}

CUresult map_ticket(Driver& d, const Context& context, const MemoryTicket& ticket, Mapping*& out) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", ticket.pid, ticket.fd);
  const nvs::UniqueFd arena{::open(path, O_RDWR | O_CLOEXEC)};
  if (!arena) return CUDA_ERROR_INVALID_VALUE;
  auto physical = Physical::open_peer(*d.machine, arena.get(), ticket.offset, ticket.bytes,
                                      ticket.gpu, ticket.shared_id);
  if (!physical) return CUDA_ERROR_INVALID_VALUE;
  Mapping mapping;
  mapping.begin = d.space.reserve(ticket.bytes, d.granularity(), 0, true);
  if (mapping.begin == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  mapping.size = ticket.bytes;
  mapping.kind = MemoryKind::ipc;
  mapping.physical = std::move(physical);
  mapping.context = context.key;
  mapping.access[context.gpu] = Access::read_write;
  mapping.access[ticket.gpu] = Access::read_write;
  out = &d.space.map(std::move(mapping));
  return CUDA_SUCCESS;
}

CUresult open_memory(CUdeviceptr* out, const CUipcMemHandle& handle, unsigned flags) {
  // Measured on an H200: the flag must be there, and others beside it do no harm.
  if (out == nullptr || (flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  MemoryTicket ticket;
  std::memcpy(static_cast<void*>(&ticket), &handle, sizeof ticket);
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  if (ticket.magic != MemoryTicket::kMagic || ticket.gpu >= d.machine->gpus()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (ticket.pid == ::getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  Mapping* mapping = find_opened(d, ticket.shared_id);
  if (mapping == nullptr) {
    const CUresult result = map_ticket(d, *context, ticket, mapping);
    if (result != CUDA_SUCCESS) return result;
  }
  *out = mapping->begin + ticket.inside;
  ++mapping->opens[*out];
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM_NEEDS(cuIpcGetMemHandle, Needs::nothing, (CUipcMemHandle * out, CUdeviceptr address), out,
              address) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  if (!d.initialised) return CUDA_ERROR_INVALID_VALUE;  // measured on an H200; others say so
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  Mapping* mapping = d.space.find(address);
  if (mapping == nullptr || mapping->kind != MemoryKind::plain || !mapping->physical->in_arena()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  MemoryTicket ticket;
  ticket.shared_id = mapping->physical->publish();
  if (ticket.shared_id == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  ticket.pid = ::getpid();
  ticket.gpu = mapping->physical->gpu();
  ticket.fd = d.arena(ticket.gpu)->fd();
  ticket.offset = mapping->physical->arena_offset();
  ticket.bytes = mapping->physical->bytes();
  ticket.inside = mapping->offset;
  std::memset(out, 0, sizeof *out);
  std::memcpy(out, &ticket, sizeof ticket);
  return CUDA_SUCCESS;
}

NVS_SIM(cuIpcOpenMemHandle_v2, (CUdeviceptr * out, CUipcMemHandle handle, unsigned int flags), out,
        handle, flags) {
  return open_memory(out, handle, flags);
}

NVS_SIM(cuIpcOpenMemHandle, (CUdeviceptr * out, CUipcMemHandle handle, unsigned int flags), out,
        handle, flags) {
  return open_memory(out, handle, flags);
}

NVS_SIM(cuIpcCloseMemHandle, (CUdeviceptr address), address) {
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  NVS_SIM_CONTEXT(context)
  Mapping* mapping = d.space.find(address);
  if (mapping == nullptr || mapping->kind != MemoryKind::ipc) return CUDA_ERROR_INVALID_VALUE;
  const auto opened = mapping->opens.find(address);
  if (opened == mapping->opens.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--opened->second == 0) mapping->opens.erase(opened);
  if (!mapping->opens.empty()) return CUDA_SUCCESS;
  const std::uint64_t begin = mapping->begin;
  const std::uint64_t size = mapping->size;
  if (const CUresult result = wait_for_users(guard, *context); result != CUDA_SUCCESS) {
    return result;
  }
  d.space.unmap(begin);
  d.space.release(begin, size);
  return CUDA_SUCCESS;
}
