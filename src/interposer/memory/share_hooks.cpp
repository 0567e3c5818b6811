// SPDX-License-Identifier: Apache-2.0
// Hooks: memory of other processes and of other interfaces, opened in this one.
#include "interposer/memory/hook_support.h"
#include "interposer/memory/ipc_open.h"
#include "interposer/memory/ipc_share.h"
#include "interposer/memory/piece_names.h"
#include "interposer/memory/shared_pieces.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory {
namespace {

// Nobody tells how large it is when something is opened.
std::uint64_t size_at(CUdeviceptr address, CUdeviceptr* begin = nullptr) {
  CUdeviceptr base = 0;
  size_t size = 0;
  auto* ask = real<Row::cuMemGetAddressRange_v2>();
  if (ask == nullptr || ask(&base, &size, address) != CUDA_SUCCESS) return 0;
  if (begin != nullptr) *begin = base;
  return size;
}

// Where the memory is: not always on the GPU of the context that opens it.
int device_at(CUdeviceptr address) {
  int device = kUnknownDevice;
  auto* ask = real<Row::cuPointerGetAttribute>();
  const bool is_told =
      ask != nullptr && ask(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS;
  return is_told ? device : current_device();
}

// What was opened by a handle of this content counts for the tenant, unless it does already. If it
// is too much, it is closed again.
template <class Close>
CUresult count_opened(Allocation opened, PieceName name, Close close) {
  const CUdeviceptr address = opened.id;
  opened.space = Space::address;
  opened.kind = MemoryKind::ipc;
  if (opened.bytes == 0) opened.bytes = size_at(address);
  HeldPiece held;
  if (interposer::session::has_any_daemon()) {
    opened.reserved.device = device_at(address);
    if (!held.take(opened.reserved.device, name, opened.bytes)) {
      close(address);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    opened.asked = held.bytes();
    opened.piece = held.hand_over();
  }
  count_here(opened);
  return CUDA_SUCCESS;
}

CUresult close_either(CUdeviceptr address) {
  return is_opened(address) ? close_memory(address) : real<Row::cuIpcCloseMemHandle>()(address);
}

CUresult count_by_handle(CUresult result, const CUdeviceptr* address,
                         const CUipcMemHandle& handle) {
  if (result != CUDA_SUCCESS || address == nullptr) return result;
  IpcTicket ticket;
  const std::uint64_t bytes = read_ticket(handle, ticket) ? ticket.bytes : 0;
  return count_opened({.again = Again::adds_reference, .id = *address, .bytes = bytes},
                      piece_name_of(&handle, sizeof handle), close_either);
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
  if (result == CUDA_SUCCESS && pHandle != nullptr) {
    CUdeviceptr base = dptr;
    if (interposer::session::has_any_daemon()) size_at(dptr, &base);
    goes_by_handle(Space::address, base, pHandle, sizeof *pHandle);
  }
  if (result != CUDA_ERROR_INVALID_VALUE || pHandle == nullptr) return result;
  if (whose(dptr, named) != interposer::swap::Whose::ours || named.is_borrowed) return result;
  if (named.allocated.pool != 0 || named.is_view) return result;
  const CUresult shared = share_memory(named, *pHandle);
  if (shared == CUDA_SUCCESS) {
    goes_by_handle(Space::address, named.allocated.base, pHandle, sizeof *pHandle);
  }
  return shared;
}

// A handle that is opened again gives the same address, and has to be closed as often.
CUresult cuIpcOpenMemHandle(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  const CUresult result = open_either(
      pdptr, handle, Flags, [&] { return real<Row::cuIpcOpenMemHandle>()(pdptr, handle, Flags); });
  return count_by_handle(result, pdptr, handle);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  const CUresult result = open_either(pdptr, handle, Flags, [&] {
    return real<Row::cuIpcOpenMemHandle_v2>()(pdptr, handle, Flags);
  });
  return count_by_handle(result, pdptr, handle);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
  return free_through(Space::address, dptr, [&] { return close_either(dptr); });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr) {
  const CUresult result = real<Row::cuMemPoolExportPointer>()(shareData_out, ptr);
  if (result == CUDA_SUCCESS && shareData_out != nullptr) {
    goes_by_handle(Space::address, ptr, shareData_out, sizeof *shareData_out);
  }
  return result;
}

CUresult cuMemPoolImportPointer(CUdeviceptr* ptr_out, CUmemoryPool pool,
                                CUmemPoolPtrExportData* shareData) {
  const CUresult result = real<Row::cuMemPoolImportPointer>()(ptr_out, pool, shareData);
  if (result != CUDA_SUCCESS || ptr_out == nullptr) return result;
  const PieceName name =
      shareData != nullptr ? piece_name_of(shareData, sizeof *shareData) : PieceName{0};
  return count_opened({.id = *ptr_out}, name,
                      [](CUdeviceptr address) { real<Row::cuMemFree_v2>()(address); });
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
