// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void managed(Run& run) {
  CUdeviceptr address = 0;
  CALL("0 bytes", cuMemAllocManaged, &address, 0, CU_MEM_ATTACH_GLOBAL);
  CALL("flags 0", cuMemAllocManaged, &address, kMiB, 0);
  CALL("1 MiB", cuMemAllocManaged, &address, kMiB, CU_MEM_ATTACH_GLOBAL);
  int is_managed = 77;
  CALL("is managed", cuPointerGetAttribute, &is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address);
  run.show("is managed", is_managed & 0xff);
  CALL("managed", cuMemsetD8_v2, address, 4, kMiB);
  CALL("", cuCtxSynchronize);
  run.show("set", all_bytes(run, address, kMiB, 4));
  CALL("managed", cuMemFree_v2, address);
}

void ordered(Run& run) {
  const CUstream stream = new_stream(run);
  CUdeviceptr address = 0;
  CALL("1 MiB", cuMemAllocAsync, &address, kMiB, stream);
  CALL("", cuMemsetD8Async, address, 6, kMiB, stream);
  run.show("set", all_bytes(run, address, kMiB, 6));
  CALL("", cuMemFreeAsync, address, stream);
  CALL("", cuStreamSynchronize, stream);
  CALL("0 bytes", cuMemAllocAsync, &address, 0, stream);
  CALL("1 TiB", cuMemAllocAsync, &address, kTiB, stream);
  CALL("null", cuMemFreeAsync, 0, stream);
  CALL("16 bytes, null stream", cuMemAllocAsync, &address, 16, nullptr);
  CALL("by cuMemFree", cuMemFree_v2, address);
}

void pool(Run& run) {
  CUmemoryPool standard = nullptr;
  CUmemoryPool current = nullptr;
  CALL("", cuDeviceGetDefaultMemPool, &standard, 0);
  CALL("", cuDeviceGetMemPool, &current, 0);
  run.show("the default pool is current", standard == current);
  cuuint64_t threshold = 77;
  CALL("threshold", cuMemPoolGetAttribute, standard, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
  run.show("threshold", threshold);
  CALL("to 0", cuMemPoolTrimTo, standard, 0);
  CALL("default pool", cuMemPoolDestroy, standard);
}

}  // namespace

Section later_section() {
  return {"later", Start::kContext, {{"managed", managed}, {"ordered", ordered}, {"pool", pool}}};
}

}  // namespace nvs::conformance
