// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/backing.h"

#include <atomic>
#include <bit>

#include "interposer/exports/real.h"
#include "interposer/gate/gate.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/views.h"
#include "interposer/memory/vmm/split.h"

namespace nvs::interposer::swap {
namespace {

enum Sharing : std::uint8_t { kNotAsked, kNo, kByFile };
constinit std::atomic<std::uint8_t> sharing[gate::kGpusMax] = {};

// Whether pages of the device can be passed to other processes.
bool can_share(int device) {
  if (sharing[device].load(std::memory_order_relaxed) == kNotAsked) {
    int can = 0;
    const CUresult asked = real<Row::cuDeviceGetAttribute>()(
        &can, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device);
    const bool is_so = asked == CUDA_SUCCESS && can != 0;
    sharing[device].store(is_so ? kByFile : kNo, std::memory_order_relaxed);
  }
  return sharing[device].load(std::memory_order_relaxed) == kByFile;
}

// It costs nothing until it is done.
CUmemAllocationProp pages_of(int device) {
  CUmemAllocationProp prop{};
  if (can_share(device)) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return prop;
}

CUresult map(int device, std::uint64_t address, std::uint64_t bytes, std::uint64_t handle) {
  const CUresult mapped = real<Row::cuMemMap>()(address, bytes, 0, handle, 0);
  if (mapped != CUDA_SUCCESS) return mapped;
  CUmemAccessDesc access[gate::kGpusMax];
  std::size_t users = 0;
  for (std::uint32_t left = users_of(device); left != 0; left &= left - 1) {
    access[users++] = {{CU_MEM_LOCATION_TYPE_DEVICE, std::countr_zero(left)},
                       CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  }
  const CUresult allowed = real<Row::cuMemSetAccess>()(address, bytes, access, users);
  if (allowed != CUDA_SUCCESS) real<Row::cuMemUnmap>()(address, bytes);
  return allowed;
}

template <Row... rows>
bool has_all() {
  return ((real<rows>() != nullptr) && ...);
}

}  // namespace

bool is_supported(int device, std::uint64_t& granularity) {
  const bool has_calls =
      has_all<Row::cuMemAddressReserve, Row::cuMemAddressFree, Row::cuMemCreate, Row::cuMemRelease,
              Row::cuMemMap, Row::cuMemUnmap, Row::cuMemSetAccess, Row::cuDeviceGetAttribute,
              Row::cuMemGetAllocationGranularity>();
  if (!has_calls) return false;
  int supported = 0;
  const CUresult asked = real<Row::cuDeviceGetAttribute>()(
      &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
  if (asked != CUDA_SUCCESS || supported == 0) return false;
  const CUmemAllocationProp prop = pages_of(device);
  std::size_t least = 0;
  const CUresult told =
      real<Row::cuMemGetAllocationGranularity>()(&least, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  granularity = least;
  return told == CUDA_SUCCESS && vmm::is_power_of_two(least) && least <= vmm::kChunkBytes;
}

std::uint64_t reserve_addresses(std::uint64_t bytes) {
  CUdeviceptr base = 0;
  const CUresult reserved = real<Row::cuMemAddressReserve>()(&base, bytes, 0, 0, 0);
  return reserved == CUDA_SUCCESS ? base : 0;
}

void give_addresses(std::uint64_t base, std::uint64_t bytes) {
  real<Row::cuMemAddressFree>()(base, bytes);
}

CUresult back(int device, std::uint64_t address, std::uint64_t bytes, std::uint64_t& handle) {
  CUmemAllocationProp prop = pages_of(device);
  adopt_prop(address, prop);
  CUmemGenericAllocationHandle pages = 0;
  const CUresult created = real<Row::cuMemCreate>()(&pages, bytes, &prop, 0);
  if (created != CUDA_SUCCESS) return created;
  const CUresult mapped = map(device, address, bytes, pages);
  if (mapped != CUDA_SUCCESS) {
    real<Row::cuMemRelease>()(pages);
    return mapped;
  }
  const CUresult shown = pages_came(address, bytes, pages);
  if (shown != CUDA_SUCCESS) {
    unback(address, bytes, pages);
    return shown;
  }
  handle = pages;
  return CUDA_SUCCESS;
}

void unback(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle) {
  pages_go(address, bytes);
  real<Row::cuMemUnmap>()(address, bytes);
  real<Row::cuMemRelease>()(handle);
}

}  // namespace nvs::interposer::swap
