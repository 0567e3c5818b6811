// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"
#include "tests/conformance/vmm.h"

namespace nvs::conformance {
namespace {

void granularity(Run& run) {
  CUmemAllocationProp prop = device_prop();
  std::size_t bytes = 77;
  CALL("minimum", cuMemGetAllocationGranularity, &bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  run.show("minimum", bytes);
  CALL("recommended", cuMemGetAllocationGranularity, &bytes, &prop,
       CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
  run.show("recommended", bytes);
  CALL("option 2", cuMemGetAllocationGranularity, &bytes, &prop,
       as_enum<CUmemAllocationGranularity_flags>(2));
  CALL("null size", cuMemGetAllocationGranularity, nullptr, &prop,
       CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CALL("null prop", cuMemGetAllocationGranularity, &bytes, nullptr,
       CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  const CUmemAllocationProp good = prop;
  prop.location.id = 99;
  CALL("device 99", cuMemGetAllocationGranularity, &bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  prop = good;
  prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  CALL("type 0", cuMemGetAllocationGranularity, &bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  prop = good;
  prop.location.type = CU_MEM_LOCATION_TYPE_INVALID;
  CALL("location type 0", cuMemGetAllocationGranularity, &bytes, &prop,
       CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  prop = good;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CALL("exportable", cuMemGetAllocationGranularity, &bytes, &prop,
       CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  run.show("exportable", bytes);
}

void reserve(Run& run) {
  CUdeviceptr address = 77;
  CALL("0 bytes", cuMemAddressReserve, &address, 0, 0, 0, 0);
  CALL("1 byte", cuMemAddressReserve, &address, 1, 0, 0, 0);
  CALL("1 MiB", cuMemAddressReserve, &address, kMiB, 0, 0, 0);
  CALL("4 KiB", cuMemAddressReserve, &address, 4096, 0, 0, 0);
  CALL("3 MiB", cuMemAddressReserve, &address, 3 * kMiB, 0, 0, 0);
  run.show("address untouched by failures", address == 77);
  CALL("null", cuMemAddressReserve, nullptr, kGranule, 0, 0, 0);
  CALL("flags 1", cuMemAddressReserve, &address, kGranule, 0, 0, 1);
  CALL("2^60 bytes", cuMemAddressReserve, &address, std::size_t{1} << 60, 0, 0, 0);
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{3}, std::size_t{4096}, kMiB,
                                      3 * kMiB, 4 * kMiB, 64 * kMiB, kGiB}) {
    address = 0;
    const CUresult result = CALL(cat("alignment ", alignment), cuMemAddressReserve, &address,
                                 kGranule, alignment, 0, 0);
    if (result != CUDA_SUCCESS) continue;
    run.show(cat("aligned to ", alignment), address % alignment == 0 && address % kGranule == 0);
    CALL(cat("alignment ", alignment), cuMemAddressFree, address, kGranule);
  }
  CALL("1 TiB", cuMemAddressReserve, &address, kTiB, 0, 0, 0);
  CALL("1 TiB", cuMemAddressFree, address, kTiB);
}

void fixed(Run& run) {
  CUdeviceptr first = 0;
  SETUP(cuMemAddressReserve, &first, 8 * kGranule, 0, 0, 0);
  CUdeviceptr second = 0;
  CALL("where another range is", cuMemAddressReserve, &second, kGranule, 0, first, 0);
  run.show("got the wanted address", second == first);
  run.show("got some address", second != 0);
  SETUP(cuMemAddressFree, first, 8 * kGranule);
  second = 0;
  CALL("where it was freed", cuMemAddressReserve, &second, kGranule, 0, first, 0);
  run.show("got the freed address", second == first);
  CALL("second range beside it", cuMemAddressReserve, &second, kGranule, 0, first + kGranule, 0);
  run.show("got the address beside it", second == first + kGranule);
  CALL("odd wish", cuMemAddressReserve, &second, kGranule, 0, first + 3 * kGranule + 4096, 0);
  CALL("wish that cannot be", cuMemAddressReserve, &second, kGranule, 0, 4096, 0);
  const CUdeviceptr used = allocate(run, 4 * kMiB);
  CALL("wish of an allocation's place", cuMemAddressReserve, &second, kGranule, 0, used, 0);
  run.show("got the allocation's place", second == used);
}

void free_range(Run& run) {
  CUdeviceptr address = 0;
  SETUP(cuMemAddressReserve, &address, 4 * kGranule, 0, 0, 0);
  CALL("null", cuMemAddressFree, 0, kGranule);
  CALL("0 bytes", cuMemAddressFree, address, 0);
  CALL("half of it", cuMemAddressFree, address, 2 * kGranule);
  CALL("more than it", cuMemAddressFree, address, 8 * kGranule);
  CALL("interior", cuMemAddressFree, address + kGranule, 3 * kGranule);
  CALL("misaligned", cuMemAddressFree, address + 1, 4 * kGranule);
  CALL("", cuMemAddressFree, address, 4 * kGranule);
  CALL("twice", cuMemAddressFree, address, 4 * kGranule);
  const CUdeviceptr plain = allocate(run, 2 * kMiB);
  CALL("memory of cuMemAlloc", cuMemAddressFree, plain, 2 * kMiB);
  CALL("no such range", cuMemAddressFree, kGranule, kGranule);
}

void create(Run& run) {
  const CUmemAllocationProp good = device_prop();
  CUmemGenericAllocationHandle handle = 77;
  CALL("0 bytes", cuMemCreate, &handle, 0, &good, 0);
  CALL("1 byte", cuMemCreate, &handle, 1, &good, 0);
  CALL("3 MiB", cuMemCreate, &handle, 3 * kMiB, &good, 0);
  CALL("1 TiB", cuMemCreate, &handle, kTiB, &good, 0);
  run.show("handle untouched by failures", handle == 77);
  CALL("flags 1", cuMemCreate, &handle, kGranule, &good, 1);
  CALL("null handle", cuMemCreate, nullptr, kGranule, &good, 0);
  CALL("null prop", cuMemCreate, &handle, kGranule, nullptr, 0);
  CUmemAllocationProp prop = good;
  prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  CALL("type 0", cuMemCreate, &handle, kGranule, &prop, 0);
  prop.type = as_enum<CUmemAllocationType>(9);
  CALL("type 9", cuMemCreate, &handle, kGranule, &prop, 0);
  prop = good;
  prop.location.type = CU_MEM_LOCATION_TYPE_INVALID;
  CALL("location type 0", cuMemCreate, &handle, kGranule, &prop, 0);
  prop = good;
  prop.location.id = -1;
  CALL("device -1", cuMemCreate, &handle, kGranule, &prop, 0);
  prop.location.id = 99;
  CALL("device 99", cuMemCreate, &handle, kGranule, &prop, 0);
  prop = good;
  prop.requestedHandleTypes = as_enum<CUmemAllocationHandleType>(0x40);
  CALL("handle type 0x40", cuMemCreate, &handle, kGranule, &prop, 0);
  prop = good;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
  CALL("Windows handle", cuMemCreate, &handle, kGranule, &prop, 0);
  prop = good;
  prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
  CALL("compressible", cuMemCreate, &handle, kGranule, &prop, 0);
  prop = good;
  prop.allocFlags.gpuDirectRDMACapable = 1;
  CALL("for RDMA", cuMemCreate, &handle, kGranule, &prop, 0);
  CALL("good", cuMemCreate, &handle, kGranule, &good, 0);
  CALL("good", cuMemRelease, handle);
}

void properties(Run& run) {
  const CUmemGenericAllocationHandle handle = create_handle(run, kGranule);
  CUmemAllocationProp prop{};
  CALL("", cuMemGetAllocationPropertiesFromHandle, &prop, handle);
  run.show("type", prop.type);
  run.show("location", cat(prop.location.type, ", ", prop.location.id));
  run.show("handle types", prop.requestedHandleTypes);
  run.show("compression", prop.allocFlags.compressionType);
  run.show("usage", prop.allocFlags.usage);
  CALL("null prop", cuMemGetAllocationPropertiesFromHandle, nullptr, handle);
  CALL("handle 0", cuMemGetAllocationPropertiesFromHandle, &prop, 0);
}

void ledger(Run& run) {
  std::size_t before = 0;
  std::size_t during = 0;
  std::size_t total = 0;
  SETUP(cuMemGetInfo_v2, &before, &total);
  const CUmemGenericAllocationHandle handle = create_handle(run, 64 * kMiB);
  SETUP(cuMemGetInfo_v2, &during, &total);
  run.show("create of 64 MiB takes MiB", (before - during) / kMiB);
  const CUdeviceptr address = map_new(run, handle, 64 * kMiB);
  SETUP(cuMemRelease, handle);
  SETUP(cuMemGetInfo_v2, &during, &total);
  run.show("still taken when released but mapped, MiB", (before - during) / kMiB);
  SETUP(cuMemUnmap, address, 64 * kMiB);
  SETUP(cuMemGetInfo_v2, &during, &total);
  run.show("taken after the unmap, MiB", (before - during) / kMiB);
}

}  // namespace

Section vmm_section() {
  return {"vmm",
          Start::kContext,
          {
              {"granularity", granularity},
              {"reserve", reserve},
              {"fixed", fixed},
              {"free_range", free_range},
              {"create", create},
              {"properties", properties},
              {"ledger", ledger},
          }};
}

}  // namespace nvs::conformance
