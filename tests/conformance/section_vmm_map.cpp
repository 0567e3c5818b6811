// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/sections.h"
#include "tests/conformance/vmm.h"

namespace nvs::conformance {
namespace {

void map(Run& run) {
  const CUmemGenericAllocationHandle handle = create_handle(run, 2 * kGranule);
  const CUdeviceptr address = reserve_range(run, 8 * kGranule);
  CALL("0 bytes", cuMemMap, address, 0, 0, handle, 0);
  CALL("odd size", cuMemMap, address, 4096, 0, handle, 0);
  CALL("misaligned address", cuMemMap, address + 4096, kGranule, 0, handle, 0);
  CALL("more than the handle", cuMemMap, address, 4 * kGranule, 0, handle, 0);
  CALL("part of the handle", cuMemMap, address, kGranule, 0, handle, 0);
  CALL("offset", cuMemMap, address + kGranule, kGranule, kGranule, handle, 0);
  CALL("flags 1", cuMemMap, address + 2 * kGranule, 2 * kGranule, 0, handle, 1);
  CALL("handle 0", cuMemMap, address + 2 * kGranule, 2 * kGranule, 0, 0, 0);
  CALL("null address", cuMemMap, 0, 2 * kGranule, 0, handle, 0);
  CALL("not reserved", cuMemMap, kGranule, 2 * kGranule, 0, handle, 0);
  const CUdeviceptr plain = allocate(run, 4 * kMiB);
  CALL("memory of cuMemAlloc", cuMemMap, plain, 2 * kGranule, 0, handle, 0);
  CALL("beyond the range", cuMemMap, address + 7 * kGranule, 2 * kGranule, 0, handle, 0);
  CALL("whole handle", cuMemMap, address + 4 * kGranule, 2 * kGranule, 0, handle, 0);
  CALL("over a mapping", cuMemMap, address + 4 * kGranule, 2 * kGranule, 0, handle, 0);
  CALL("half over a mapping", cuMemMap, address + 5 * kGranule, 2 * kGranule, 0, handle, 0);
  CALL("same handle elsewhere", cuMemMap, address + 6 * kGranule, 2 * kGranule, 0, handle, 0);
}

void access(Run& run) {
  const CUmemGenericAllocationHandle handle = create_handle(run, 2 * kGranule);
  const CUdeviceptr address = reserve_range(run, 4 * kGranule);
  CUmemAccessDesc desc = read_write();
  unsigned long long flags = 77;
  CALL("reserved only", cuMemSetAccess, address, kGranule, &desc, 1);
  CALL("reserved only", cuMemGetAccess, &flags, &desc.location, address);
  SETUP(cuMemMap, address, 2 * kGranule, 0, handle, 0);
  CALL("mapped, not set", cuMemGetAccess, &flags, &desc.location, address);
  run.show("access when not set", flags);
  CALL("with an unmapped rest", cuMemSetAccess, address, 4 * kGranule, &desc, 1);
  CALL("no descriptors", cuMemSetAccess, address, 2 * kGranule, &desc, 0);
  CALL("null descriptors", cuMemSetAccess, address, 2 * kGranule, nullptr, 1);
  CALL("0 bytes", cuMemSetAccess, address, 0, &desc, 1);
  CALL("odd size", cuMemSetAccess, address, 4096, &desc, 1);
  CALL("misaligned address", cuMemSetAccess, address + 4096, kGranule, &desc, 1);
  CALL("first half", cuMemSetAccess, address, kGranule, &desc, 1);
  CALL("first half", cuMemGetAccess, &flags, &desc.location, address);
  run.show("access of the first half", flags);
  CALL("second half", cuMemGetAccess, &flags, &desc.location, address + kGranule);
  run.show("access of the second half", flags);
  CALL("whole", cuMemSetAccess, address, 2 * kGranule, &desc, 1);
  CALL("interior", cuMemGetAccess, &flags, &desc.location, address + kGranule + 5);
  run.show("access of the whole", flags);
  desc.location.id = 99;
  CALL("device 99", cuMemSetAccess, address, 2 * kGranule, &desc, 1);
  CALL("device 99", cuMemGetAccess, &flags, &desc.location, address);
  desc = read_write();
  desc.flags = as_enum<CUmemAccess_flags>(2);
  CALL("flags 2", cuMemSetAccess, address, 2 * kGranule, &desc, 1);
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  CALL("read only", cuMemSetAccess, address, 2 * kGranule, &desc, 1);
  CALL("read only", cuMemGetAccess, &flags, &desc.location, address);
  run.show("access when read only", flags);
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  CALL("none", cuMemSetAccess, address, 2 * kGranule, &desc, 1);
  CALL("none", cuMemGetAccess, &flags, &desc.location, address);
  run.show("access when none", flags);
  CALL("null flags", cuMemGetAccess, nullptr, &desc.location, address);
  CALL("null location", cuMemGetAccess, &flags, nullptr, address);
  CALL("not reserved", cuMemGetAccess, &flags, &desc.location, kGranule);
  CALL("memory of cuMemAlloc", cuMemGetAccess, &flags, &desc.location, allocate(run, kGranule));
}

void holes(Run& run) {
  const CUmemGenericAllocationHandle first = create_handle(run, kGranule);
  const CUmemGenericAllocationHandle second = create_handle(run, kGranule);
  const CUdeviceptr address = reserve_range(run, 4 * kGranule);
  const CUmemAccessDesc desc = read_write();
  SETUP(cuMemMap, address, kGranule, 0, first, 0);
  SETUP(cuMemMap, address + 2 * kGranule, kGranule, 0, second, 0);
  CALL("across a hole", cuMemSetAccess, address, 3 * kGranule, &desc, 1);
  unsigned long long flags = 77;
  CALL("before the hole", cuMemGetAccess, &flags, &desc.location, address);
  run.show("access before the hole", flags);
  CALL("across a hole", cuMemUnmap, address, 3 * kGranule);
  CALL("before the hole, after the unmap", cuMemGetAccess, &flags, &desc.location, address);
  SETUP(cuMemRelease, first);
  SETUP(cuMemRelease, second);
}

void unmap(Run& run) {
  const CUmemGenericAllocationHandle first = create_handle(run, 2 * kGranule);
  const CUmemGenericAllocationHandle second = create_handle(run, kGranule);
  const CUdeviceptr address = reserve_range(run, 4 * kGranule);
  CALL("never mapped", cuMemUnmap, address, kGranule);
  SETUP(cuMemMap, address, 2 * kGranule, 0, first, 0);
  SETUP(cuMemMap, address + 2 * kGranule, kGranule, 0, second, 0);
  CALL("0 bytes", cuMemUnmap, address, 0);
  CALL("null", cuMemUnmap, 0, kGranule);
  CALL("misaligned address", cuMemUnmap, address + 4096, kGranule);
  CALL("odd size", cuMemUnmap, address, 4096);
  CALL("first half of a mapping", cuMemUnmap, address, kGranule);
  CALL("second half of a mapping", cuMemUnmap, address + kGranule, kGranule);
  CALL("half a mapping and the next", cuMemUnmap, address + kGranule, 2 * kGranule);
  CALL("with mappings", cuMemAddressFree, address, 4 * kGranule);
  CALL("both mappings", cuMemUnmap, address, 3 * kGranule);
  CALL("twice", cuMemUnmap, address, 3 * kGranule);
  CALL("memory of cuMemAlloc", cuMemUnmap, allocate(run, kGranule), kGranule);
  CALL("without mappings", cuMemAddressFree, address, 4 * kGranule);
  CALL("range freed", cuMemUnmap, address, kGranule);
}

void release(Run& run) {
  const CUmemGenericAllocationHandle handle = create_handle(run, kGranule);
  const CUdeviceptr address = map_new(run, handle, kGranule);
  CALL("while mapped", cuMemRelease, handle);
  CALL("released but mapped", cuMemsetD8_v2, address, 7, kGranule);
  run.show("memory still works", all_bytes(run, address, 4096, 7));
  CALL("twice", cuMemRelease, handle);
  CALL("of the released", cuMemMap, reserve_range(run, kGranule), kGranule, 0, handle, 0);
  CALL("mapped twice released", cuMemUnmap, address, kGranule);
  CALL("after the unmap", cuMemRelease, handle);
  CALL("0", cuMemRelease, 0);
}

void retain(Run& run) {
  const CUmemGenericAllocationHandle handle = create_handle(run, 2 * kGranule);
  const CUdeviceptr address = map_new(run, handle, 2 * kGranule);
  CUmemGenericAllocationHandle again = 0;
  CALL("start", cuMemRetainAllocationHandle, &again, pointer_of(address));
  run.show("same handle", again == handle);
  CALL("interior", cuMemRetainAllocationHandle, &again, pointer_of(address + kGranule + 5));
  run.show("same handle for the interior", again == handle);
  CALL("first", cuMemRelease, handle);
  CALL("second", cuMemRelease, handle);
  CALL("third", cuMemRelease, handle);
  CALL("memory of cuMemAlloc", cuMemRetainAllocationHandle, &again,
       pointer_of(allocate(run, kGranule)));
  CALL("null address", cuMemRetainAllocationHandle, &again, nullptr);
  CALL("null handle", cuMemRetainAllocationHandle, nullptr, pointer_of(address));
  CALL("stack", cuMemRetainAllocationHandle, &again, &again);
  CALL("", cuMemUnmap, address, 2 * kGranule);
  CALL("unmapped", cuMemRetainAllocationHandle, &again, pointer_of(address));
}

}  // namespace

Section vmm_map_section() {
  return {"vmm_map",
          Start::kContext,
          {
              {"map", map, Process::kOwn},
              {"access", access, Process::kOwn},
              {"holes", holes},
              {"unmap", unmap},
              {"release", release, Process::kOwn},
              {"retain", retain, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
