// SPDX-License-Identifier: Apache-2.0
// Hooks: virtual memory management, where memory and addresses are apart. The memory belongs to a
// device, and no context takes it along.
#include "interposer/gate/inside.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/piece_names.h"
#include "interposer/memory/reservation.h"
#include "interposer/memory/sample.h"
#include "interposer/memory/shared_pieces.h"
#include "interposer/memory/swap/created.h"
#include "interposer/memory/swap/driver_room.h"
#include "interposer/memory/swap/query.h"
#include "interposer/memory/swap/solid.h"
#include "interposer/memory/swap/view_calls.h"

namespace nvs::interposer::memory {
namespace {

int device_of_handle(CUmemGenericAllocationHandle handle) {
  CUmemAllocationProp prop{};
  auto* ask = real<Row::cuMemGetAllocationPropertiesFromHandle>();
  if (ask == nullptr || ask(&prop, handle) != CUDA_SUCCESS) return kUnknownDevice;
  return device_at(prop.location);
}

bool reserve(Reservation& reserved, const CUmemLocation& location, std::uint64_t bytes) {
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return true;
  return reserved.take(location.id, bytes);
}

// Memory of cuMemAlloc that is really ours: a program that tried this on the driver's own would be
// refused, and must not tear ours apart. Views are the program's.
bool is_of_ours(std::uint64_t address) {
  swap::Named named;
  return swap::whose(address, named) != swap::Whose::drivers && !named.is_view;
}

int file_of(const void* os_handle) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));
}

// Of a fabric handle the content is what all who share it have in common.
bool hold_imported(HeldPiece& held, int device, const void* os_handle,
                   CUmemAllocationHandleType type) {
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return held.take_file(device, file_of(os_handle));
  }
  if (type != CU_MEM_HANDLE_TYPE_FABRIC) return true;
  return held.take(device, piece_name_of(os_handle, sizeof(CUmemFabricHandle)), 0);
}

void note_exported(CUmemGenericAllocationHandle handle, const void* out,
                   CUmemAllocationHandleType type) {
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    goes_by_file(Space::vmm_handle, handle, *static_cast<const int*>(out));
  } else if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
    goes_by_handle(Space::vmm_handle, handle, out, sizeof(CUmemFabricHandle));
  }
}

// A call that needs the driver's own handle.
template <class Call>
CUresult with_solid(CUmemGenericAllocationHandle handle, Call call) {
  if (!swap::is_token(handle)) return call(handle);
  CUmemGenericAllocationHandle solid = 0;
  const CUresult made = swap::solid_handle(handle, solid);
  return made == CUDA_SUCCESS ? call(solid) : made;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
  Reservation reserved;
  const bool is_sane = handle != nullptr && prop != nullptr;
  if (is_sane && !reserve(reserved, prop->location, size)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (is_sane && flags == 0) {
    std::uint64_t token = 0;
    const interposer::swap::Got got = interposer::swap::create(size, *prop, token);
    if (got == interposer::swap::Got::nothing) return CUDA_ERROR_OUT_OF_MEMORY;
    if (got == interposer::swap::Got::memory) {
      count_handle(token, MemoryKind::movable, size, prop->location.id, reserved.hand_over());
      *handle = token;
      return CUDA_SUCCESS;
    }
  }
  if (!is_sane) return real<Row::cuMemCreate>()(handle, size, prop, flags);
  const auto where = [&] { return device_at(prop->location); };
  return interposer::swap::with_room_for(size, where, [&] {
    const CUresult result = real<Row::cuMemCreate>()(handle, size, prop, flags);
    if (result != CUDA_SUCCESS) return result;
    count_handle(*handle, MemoryKind::vmm, size, device_at(prop->location), reserved.hand_over());
    return result;
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType shHandleType) {
  const CUresult result =
      real<Row::cuMemImportFromShareableHandle>()(handle, osHandle, shHandleType);
  if (result != CUDA_SUCCESS || handle == nullptr) return result;
  const int device = device_of_handle(*handle);
  HeldPiece held;
  if (!hold_imported(held, device, osHandle, shHandleType)) {
    real<Row::cuMemRelease>()(*handle);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const std::uint64_t asked = held.bytes();
  books().allocated({.space = Space::vmm_handle,
                     .kind = MemoryKind::ipc,
                     .again = Again::adds_reference,
                     .id = *handle,
                     .bytes = 0,  // the first mapping tells
                     .owner = device_owner(device),
                     .asked = asked,
                     .piece = held.hand_over()},
                    device);
  return result;
}

// Memory of cuMemAlloc has no handle that a program could have, so ours has none.
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  std::uint64_t token = 0;
  if (handle != nullptr && interposer::swap::retain_at(number_of(addr), token)) {
    *handle = token;
    return CUDA_SUCCESS;
  }
  if (is_of_ours(number_of(addr))) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = real<Row::cuMemRetainAllocationHandle>()(handle, addr);
  if (result == CUDA_SUCCESS && handle != nullptr) books().retained(*handle);
  return result;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
  if (interposer::swap::is_token(handle)) return interposer::swap::prop_of(handle, prop);
  return real<Row::cuMemGetAllocationPropertiesFromHandle>()(prop, handle);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  if (interposer::swap::is_token(handle)) return interposer::swap::release(handle);
  return free_through(Space::vmm_handle, handle, [&] { return real<Row::cuMemRelease>()(handle); });
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  if (is_of_ours(ptr)) return CUDA_ERROR_INVALID_VALUE;
  if (interposer::swap::is_token(handle)) {
    return interposer::swap::map_view({ptr, size}, offset, handle, flags);
  }
  if (interposer::swap::has_views({ptr, size})) return CUDA_ERROR_INVALID_VALUE;
  if (!may_be_mapped(handle, size)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = real<Row::cuMemMap>()(ptr, size, offset, handle, flags);
  if (result == CUDA_SUCCESS) books().mapped(ptr, size, handle);
  return result;
}

// A range may hold any number of mappings, so they are not taken out first; the birth number tells
// those from before the call from any that another thread makes in the same place right after it.
CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  if (is_of_ours(ptr)) return CUDA_ERROR_INVALID_VALUE;
  if (interposer::swap::has_views({ptr, size})) return interposer::swap::unmap_range({ptr, size});
  const Birth before = books().now();
  const CUresult result = real<Row::cuMemUnmap>()(ptr, size);
  if (result == CUDA_SUCCESS) books().unmapped(ptr, size, before);
  return result;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  if (is_of_ours(ptr)) return CUDA_ERROR_INVALID_VALUE;
  if (interposer::swap::has_views({ptr, size})) return CUDA_ERROR_INVALID_VALUE;
  return real<Row::cuMemAddressFree>()(ptr, size);
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  if (is_of_ours(ptr)) return CUDA_ERROR_INVALID_VALUE;
  if (interposer::swap::has_views({ptr, size})) {
    return interposer::swap::allow_range({ptr, size}, desc, count);
  }
  return real<Row::cuMemSetAccess>()(ptr, size, desc, count);
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
  CUresult result = CUDA_SUCCESS;
  if (interposer::swap::access_at(ptr, location, flags, result)) return result;
  interposer::swap::Named named;
  if (interposer::swap::whose(ptr, named) == interposer::swap::Whose::ours) {
    return real<Row::cuMemGetAccess>()(flags, location, sample_in(named.allocated.context));
  }
  return real<Row::cuMemGetAccess>()(flags, location, ptr);
}

CUresult cuMemExportToShareableHandle(void* shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags) {
  const CUresult result = with_solid(handle, [&](CUmemGenericAllocationHandle solid) {
    return real<Row::cuMemExportToShareableHandle>()(shareableHandle, solid, handleType, flags);
  });
  if (result == CUDA_SUCCESS && shareableHandle != nullptr) {
    note_exported(handle, shareableHandle, handleType);
  }
  return result;
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                            CUmemGenericAllocationHandle memHandle, size_t memOffset, size_t size,
                            unsigned long long flags) {
  return with_solid(memHandle, [&](CUmemGenericAllocationHandle solid) {
    return real<Row::cuMulticastBindMem>()(mcHandle, mcOffset, solid, memOffset, size, flags);
  });
}

// What is bound is used by other GPUs, whoever's turn it is here, so it stays. The driver takes
// memory of cuMemCreate and of pools, and no other: what ours is made of is not to be seen.
CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                             CUdeviceptr memptr, size_t size, unsigned long long flags) {
  const auto bind = [&] {
    return real<Row::cuMulticastBindAddr>()(mcHandle, mcOffset, memptr, size, flags);
  };
  interposer::swap::Named named;
  const interposer::swap::Whose whose = interposer::swap::whose(memptr, named);
  if (whose == interposer::swap::Whose::drivers || named.is_view) {
    const CUresult made = interposer::swap::make_solid_in({memptr, size});
    return made == CUDA_SUCCESS ? bind() : made;
  }
  const bool is_of_pool = named.allocated.pool != 0 && !named.is_borrowed;
  if (whose != interposer::swap::Whose::ours || !is_of_pool) return CUDA_ERROR_INVALID_VALUE;
  return interposer::gate::inside([&] {
    const CUresult result = bind();
    if (result == CUDA_SUCCESS) interposer::swap::pin_all({memptr, size});
    return result;
  });
}

}  // namespace nvs::hooks
