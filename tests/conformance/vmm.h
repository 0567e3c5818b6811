// SPDX-License-Identifier: Apache-2.0
// Steps about virtual memory management want the tedious part (reserve, create, map, grant) in a
// line each.
#pragma once

#include "tests/conformance/fixture.h"

namespace nvs::conformance {

inline constexpr std::size_t kGranule = 2 * kMiB;

inline CUmemGenericAllocationHandle create_handle(Run& run, std::size_t bytes) {
  const CUmemAllocationProp prop = device_prop();
  CUmemGenericAllocationHandle handle = 0;
  SETUP(cuMemCreate, &handle, bytes, &prop, 0);
  return handle;
}

inline CUdeviceptr reserve_range(Run& run, std::size_t bytes) {
  CUdeviceptr address = 0;
  SETUP(cuMemAddressReserve, &address, bytes, 0, 0, 0);
  return address;
}

inline CUmemAccessDesc read_write() {
  return {device_prop().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

// Reserves a range for the whole handle, maps it and grants access.
inline CUdeviceptr map_new(Run& run, CUmemGenericAllocationHandle handle, std::size_t bytes) {
  const CUdeviceptr address = reserve_range(run, bytes);
  const CUmemAccessDesc access = read_write();
  SETUP(cuMemMap, address, bytes, 0, handle, 0);
  SETUP(cuMemSetAccess, address, bytes, &access, 1);
  return address;
}

}  // namespace nvs::conformance
