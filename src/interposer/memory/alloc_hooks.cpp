// SPDX-License-Identifier: Apache-2.0
// Hooks: memory that has an address from the start, and how it is freed.
#include "interposer/memory/hook_support.h"
#include "interposer/memory/ipc_share.h"
#include "interposer/memory/swap/allocate.h"
#include "interposer/memory/swap/free_like_driver.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/unified/allocate.h"
#include "interposer/memory/unified/use.h"

namespace nvs::interposer::memory {
namespace {

template <class Address>
void count_address(MemoryKind kind, const Address* address, std::uint64_t bytes) {
  if (address == nullptr) return;
  count_here({.space = Space::address, .kind = kind, .id = *address, .bytes = bytes});
}

bool is_for_us() {
  int gpu = 0;
  return unified::is_for_us(gpu) || swap::is_for_us();
}

// Unified Memory, or memory that we move; written down.
swap::Got allocate_ours(std::uint64_t bytes, vmm::RegionKind kind, std::uint64_t& base) {
  int gpu = 0;
  if (unified::is_for_us(gpu)) return unified::allocate(gpu, bytes, base);
  const swap::Got got = swap::allocate(bytes, kind, base);
  if (got == swap::Got::memory) count_address(MemoryKind::movable, &base, bytes);
  return got;
}

// Memory of ours, or what the driver itself does.
template <class Native>
CUresult allocate_plain(CUdeviceptr* address, size_t bytes, Native native) {
  std::uint64_t base = 0;
  const swap::Got got =
      address != nullptr ? allocate_ours(bytes, vmm::RegionKind::plain, base) : swap::Got::native;
  if (got == swap::Got::nothing) return CUDA_ERROR_OUT_OF_MEMORY;
  if (got == swap::Got::native) {
    const CUresult result = native();
    if (result == CUDA_SUCCESS) count_address(MemoryKind::plain, address, bytes);
    return result;
  }
  *address = base;
  return CUDA_SUCCESS;
}

// The pitch is the driver's choice: one row of it tells.
template <class Native>
bool learn_pitch(Native native, size_t& pitch) {
  CUdeviceptr row = 0;
  if (native(&row, &pitch, 1) != CUDA_SUCCESS) return false;
  real<Row::cuMemFree_v2>()(row);
  return pitch != 0;
}

template <class Size>
bool is_product(Size a, Size b) {
  return a != 0 && b != 0 && a <= SIZE_MAX / b;
}

// `native(address, pitch, rows)`.
template <class Native>
CUresult allocate_pitched(CUdeviceptr* address, size_t* pitch, size_t rows, Native native) {
  size_t bytes_of_row = 0;
  std::uint64_t base = 0;
  const bool is_sane = address != nullptr && pitch != nullptr && rows != 0;
  swap::Got got = swap::Got::native;
  if (is_sane && is_for_us() && learn_pitch(native, bytes_of_row)) {
    got = is_product(bytes_of_row, rows)
              ? allocate_ours(bytes_of_row * rows, vmm::RegionKind::pitched, base)
              : swap::Got::nothing;
  }
  if (got == swap::Got::nothing) return CUDA_ERROR_OUT_OF_MEMORY;
  if (got == swap::Got::native) {
    const CUresult result = native(address, pitch, rows);
    if (result == CUDA_SUCCESS && is_sane) {
      count_address(MemoryKind::pitched, address, std::uint64_t{*pitch} * rows);
    }
    return result;
  }
  *address = base;
  *pitch = bytes_of_row;
  return CUDA_SUCCESS;
}

template <class Address, class Size>
CUresult count_pitched(CUresult result, const Address* address, const Size* pitch, Size rows) {
  if (result == CUDA_SUCCESS && pitch != nullptr) {
    count_address(MemoryKind::pitched, address, std::uint64_t{*pitch} * rows);
  }
  return result;
}

}  // namespace
}  // namespace nvs::interposer::memory

namespace nvs::hooks {

using namespace interposer::memory;
using interposer::real;
using interposer::Row;

CUresult cuMemAlloc(CUdeviceptr_v1* dptr, unsigned int bytesize) {
  const CUresult result = real<Row::cuMemAlloc>()(dptr, bytesize);
  if (result == CUDA_SUCCESS) count_address(MemoryKind::plain, dptr, bytesize);
  return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  return allocate_plain(dptr, bytesize, [&] { return real<Row::cuMemAlloc_v2>()(dptr, bytesize); });
}

CUresult cuMemAllocPitch(CUdeviceptr_v1* dptr, unsigned int* pPitch, unsigned int WidthInBytes,
                         unsigned int Height, unsigned int ElementSizeBytes) {
  return count_pitched(
      real<Row::cuMemAllocPitch>()(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes), dptr,
      pPitch, Height);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes) {
  return allocate_pitched(dptr, pPitch, Height,
                          [&](CUdeviceptr* address, size_t* pitch, size_t rows) {
                            return real<Row::cuMemAllocPitch_v2>()(address, pitch, WidthInBytes,
                                                                   rows, ElementSizeBytes);
                          });
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  const CUresult result = real<Row::cuMemAllocManaged>()(dptr, bytesize, flags);
  if (result == CUDA_SUCCESS) count_address(MemoryKind::managed, dptr, bytesize);
  return result;
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
