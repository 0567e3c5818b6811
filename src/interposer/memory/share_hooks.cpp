// SPDX-License-Identifier: Apache-2.0
// Hooks: memory of other processes and of other interfaces, opened in this one.
#include "interposer/memory/hook_support.h"
#include "interposer/memory/ipc_open.h"
#include "interposer/memory/ipc_share.h"

namespace nvs::interposer::memory {
namespace {

// Nobody tells how large it is when something is opened.
std::uint64_t size_at(CUdeviceptr address) {
  CUdeviceptr base = 0;
  size_t size = 0;
  auto* ask = real<Row::cuMemGetAddressRange_v2>();
  if (ask == nullptr || ask(&base, &size, address) != CUDA_SUCCESS) return 0;
  return size;
}

CUresult count_opened(CUresult result, const CUdeviceptr* address, Again again) {
  if (result != CUDA_SUCCESS || address == nullptr) return result;
  count_here({.space = Space::address,
              .kind = MemoryKind::ipc,
              .again = again,
              .id = *address,
              .bytes = size_at(*address)});
  return result;
}

// A handle of ours, or what the driver itself does.
template <class Native>
CUresult open_either(CUdeviceptr* address, const CUipcMemHandle& handle, unsigned flags,
                     Native native) {
  IpcTicket ticket;
  if (!read_ticket(handle, ticket)) return native();
  if (address == nullptr || (flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (is_own_share(ticket.token)) return CUDA_ERROR_INVALID_CONTEXT;
  return open_memory(ticket, *address);
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

// The driver cannot share memory of ours: it says so, unless the context is such that it would not
// have shared its own either.
CUresult cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) {
  interposer::swap::Named named;
  const CUresult result = real<Row::cuIpcGetMemHandle>()(pHandle, dptr);
  if (result != CUDA_ERROR_INVALID_VALUE || pHandle == nullptr) return result;
  if (whose(dptr, named) != interposer::swap::Whose::ours || named.is_borrowed) return result;
  if (named.allocated.pool != 0 || named.is_view) return result;
  return share_memory(named, *pHandle);
}

// A handle that is opened again gives the same address, and has to be closed as often.
CUresult cuIpcOpenMemHandle(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  const CUresult result = open_either(
      pdptr, handle, Flags, [&] { return real<Row::cuIpcOpenMemHandle>()(pdptr, handle, Flags); });
  return count_opened(result, pdptr, Again::adds_reference);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  const CUresult result = open_either(pdptr, handle, Flags, [&] {
    return real<Row::cuIpcOpenMemHandle_v2>()(pdptr, handle, Flags);
  });
  return count_opened(result, pdptr, Again::adds_reference);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
  return free_through(Space::address, dptr, [&] {
    return is_opened(dptr) ? close_memory(dptr) : real<Row::cuIpcCloseMemHandle>()(dptr);
  });
}

CUresult cuMemPoolImportPointer(CUdeviceptr* ptr_out, CUmemoryPool pool,
                                CUmemPoolPtrExportData* shareData) {
  return count_opened(real<Row::cuMemPoolImportPointer>()(ptr_out, pool, shareData), ptr_out,
                      Again::replaces);
}

// The object is what is counted. Buffers and arrays that are mapped from it are the same memory.
CUresult cuImportExternalMemory(CUexternalMemory* extMem_out,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* memHandleDesc) {
  const CUresult result = real<Row::cuImportExternalMemory>()(extMem_out, memHandleDesc);
  if (result != CUDA_SUCCESS || extMem_out == nullptr || memHandleDesc == nullptr) return result;
  count_here({.space = Space::external_memory,
              .kind = MemoryKind::external,
              .id = number_of(*extMem_out),
              .bytes = memHandleDesc->size});
  return result;
}

CUresult cuDestroyExternalMemory(CUexternalMemory extMem) {
  return free_through(Space::external_memory, number_of(extMem),
                      [&] { return real<Row::cuDestroyExternalMemory>()(extMem); });
}

}  // namespace nvs::hooks
