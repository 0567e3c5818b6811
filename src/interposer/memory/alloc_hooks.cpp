// SPDX-License-Identifier: Apache-2.0
// Hooks: memory that has an address from the start, and how it is freed.
#include "interposer/memory/hook_support.h"
#include "interposer/memory/ipc_share.h"
#include "interposer/memory/reservation.h"
#include "interposer/memory/swap/allocate.h"
#include "interposer/memory/swap/driver_room.h"
#include "interposer/memory/swap/free_like_driver.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/unified/allocate.h"
#include "interposer/memory/unified/use.h"

namespace nvs::interposer::memory {
namespace {

// What the program wants, and what of that is reserved.
struct Wanted {
  std::uint64_t asked = 0;
  Reservation reserved = {};

  bool reserve() { return reserved.take_here(asked); }
};

template <class Address>
void count_address(MemoryKind kind, const Address* address, std::uint64_t bytes, Wanted& wanted) {
  if (address == nullptr) return;
  count_here({.space = Space::address,
              .kind = kind,
              .id = *address,
              .bytes = bytes,
              .asked = wanted.asked,
              .reserved = wanted.reserved.hand_over()});
}

// What the driver itself does, within the tenant's limit.
template <class Address, class Native>
CUresult allocate_native(MemoryKind kind, const Address* address, std::uint64_t bytes,
                         Native native) {
  Wanted wanted{bytes};
  if (address != nullptr && !wanted.reserve()) return CUDA_ERROR_OUT_OF_MEMORY;
  return swap::with_room_here(bytes, [&] {
    const CUresult result = native();
    if (result == CUDA_SUCCESS) count_address(kind, address, bytes, wanted);
    return result;
  });
}

bool is_for_us() {
  int gpu = 0;
  return unified::is_for_us(gpu) || swap::is_for_us();
}

// Unified Memory, or memory that we move; written down.
swap::Got allocate_ours(std::uint64_t bytes, vmm::RegionKind kind, std::uint64_t& base,
                        Wanted& wanted) {
  int gpu = 0;
  if (unified::is_for_us(gpu)) {
    return unified::allocate(gpu, bytes, base, {wanted.asked, wanted.reserved});
  }
  const swap::Got got = swap::allocate(bytes, kind, base);
  if (got == swap::Got::memory) count_address(MemoryKind::movable, &base, bytes, wanted);
  return got;
}

// Memory of ours, or what the driver itself does.
template <class Native>
CUresult allocate_plain(CUdeviceptr* address, size_t bytes, Native native) {
  if (address == nullptr) return native();
  Wanted wanted{bytes};
  if (!wanted.reserve()) return CUDA_ERROR_OUT_OF_MEMORY;
  std::uint64_t base = 0;
  const swap::Got got = allocate_ours(bytes, vmm::RegionKind::plain, base, wanted);
  if (got == swap::Got::nothing) return CUDA_ERROR_OUT_OF_MEMORY;
  if (got == swap::Got::native) {
    return swap::with_room_here(bytes, [&] {
      const CUresult result = native();
      if (result == CUDA_SUCCESS) count_address(MemoryKind::plain, address, bytes, wanted);
      return result;
    });
  }
  *address = base;
  return CUDA_SUCCESS;
}

// The pitch is the driver's choice: one row of it tells, for a moment.
template <class Native>
CUresult learn_pitch(std::uint64_t width, Native native, size_t& pitch) {
  return swap::with_room_here(width, [&] {
    CUdeviceptr row = 0;
    const CUresult result = native(&row, &pitch, 1);
    if (result == CUDA_SUCCESS) real<Row::cuMemFree_v2>()(row);
    return result;
  });
}

template <class Size>
bool is_product(Size a, Size b) {
  return a != 0 && b != 0 && a <= SIZE_MAX / b;
}

// By the driver itself; written down unless the address is null.
template <class Address, class Size, class Native>
CUresult pitched_native(const Address* address, const Size* pitch, std::uint64_t rows,
                        Wanted& wanted, Native native) {
  return swap::with_room_here(wanted.asked, [&] {
    const CUresult result = native();
    if (result == CUDA_SUCCESS && address != nullptr) {
      count_address(MemoryKind::pitched, address, std::uint64_t{*pitch} * rows, wanted);
    }
    return result;
  });
}

// `native(address, pitch, rows)`.
template <class Native>
CUresult allocate_pitched(CUdeviceptr* address, size_t* pitch, std::uint64_t width, size_t rows,
                          Native native) {
  size_t bytes_of_row = 0;
  std::uint64_t base = 0;
  const bool is_sane = address != nullptr && pitch != nullptr && rows != 0;
  Wanted wanted{product(width, rows)};
  if (is_sane && !wanted.reserve()) return CUDA_ERROR_OUT_OF_MEMORY;
  swap::Got got = swap::Got::native;
  if (is_sane && is_for_us()) {
    const CUresult learnt = learn_pitch(width, native, bytes_of_row);
    if (learnt == CUDA_ERROR_OUT_OF_MEMORY) return learnt;
    if (learnt == CUDA_SUCCESS && bytes_of_row != 0) {
      got = is_product(bytes_of_row, rows)
                ? allocate_ours(bytes_of_row * rows, vmm::RegionKind::pitched, base, wanted)
                : swap::Got::nothing;
    }
  }
  if (got == swap::Got::nothing) return CUDA_ERROR_OUT_OF_MEMORY;
  if (got == swap::Got::native) {
    return pitched_native(is_sane ? address : nullptr, pitch, rows, wanted,
                          [&] { return native(address, pitch, rows); });
  }
  *address = base;
  *pitch = bytes_of_row;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuMemAlloc(CUdeviceptr_v1* dptr, unsigned int bytesize) {
  return allocate_native(MemoryKind::plain, dptr, bytesize,
                         [&] { return real<Row::cuMemAlloc>()(dptr, bytesize); });
}

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  return allocate_plain(dptr, bytesize, [&] { return real<Row::cuMemAlloc_v2>()(dptr, bytesize); });
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* dptr, unsigned int* pPitch, unsigned int WidthInBytes,
                         unsigned int Height, unsigned int ElementSizeBytes) {
  Wanted wanted{product(WidthInBytes, Height)};
  const bool is_sane = dptr != nullptr && pPitch != nullptr;
  if (is_sane && !wanted.reserve()) return CUDA_ERROR_OUT_OF_MEMORY;
  return pitched_native(is_sane ? dptr : nullptr, pPitch, Height, wanted, [&] {
    return real<Row::cuMemAllocPitch>()(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes) {
  return allocate_pitched(dptr, pPitch, WidthInBytes, Height,
                          [&](CUdeviceptr* address, size_t* pitch, size_t rows) {
                            return real<Row::cuMemAllocPitch_v2>()(address, pitch, WidthInBytes,
                                                                   rows, ElementSizeBytes);
                          });
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  return allocate_native(MemoryKind::managed, dptr, bytesize,
                         [&] { return real<Row::cuMemAllocManaged>()(dptr, bytesize, flags); });
}

CUresult cuMemFree(CUdeviceptr_v1 dptr) {
  return free_through(Space::address, dptr, [&] { return real<Row::cuMemFree>()(dptr); });
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  return free_through(Space::address, dptr, [&] {
    if (!interposer::swap::is_ours(dptr)) return real<Row::cuMemFree_v2>()(dptr);
    const CUresult result = interposer::swap::free_like_driver(dptr);
    if (result == CUDA_SUCCESS) end_shares();
    if (interposer::swap::has_surplus()) interposer::swap::give_back_surplus();
    return result;
  });
}

}  // namespace nvs::hooks
