// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include <sys/mman.h>

#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

struct Attribute {
  const char* name;
  CUpointer_attribute number;
};

constexpr Attribute kAttributes[] = {
    {"context", CU_POINTER_ATTRIBUTE_CONTEXT},
    {"memory type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE},
    {"device pointer", CU_POINTER_ATTRIBUTE_DEVICE_POINTER},
    {"host pointer", CU_POINTER_ATTRIBUTE_HOST_POINTER},
    {"sync memops", CU_POINTER_ATTRIBUTE_SYNC_MEMOPS},
    {"buffer id", CU_POINTER_ATTRIBUTE_BUFFER_ID},
    {"is managed", CU_POINTER_ATTRIBUTE_IS_MANAGED},
    {"device ordinal", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL},
    {"legacy IPC capable", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE},
    {"range start", CU_POINTER_ATTRIBUTE_RANGE_START_ADDR},
    {"range size", CU_POINTER_ATTRIBUTE_RANGE_SIZE},
    {"mapped", CU_POINTER_ATTRIBUTE_MAPPED},
    {"allowed handle types", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES},
    {"RDMA capable", CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE},
    {"access flags", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS},
    {"pool", CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE},
    {"mapping size", CU_POINTER_ATTRIBUTE_MAPPING_SIZE},
    {"mapping base", CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR},
    {"block id", CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID},
};

// What an attribute's value may say in the transcript: addresses become distances, ids whether
// there is one.
std::string value_text(Run& run, CUpointer_attribute attribute, std::uint64_t value,
                       CUdeviceptr base) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      if (value == 0) return "null";
      return value == address_of(current_context(run)) ? "current" : "other";
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return relative(value, base);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      // Small allocations share a mapping; which neighbours they get is the driver's affair.
      if (value < base && base - value < 2 * kMiB) return "before the base";
      return relative(value, base);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return value == 0 ? "zero" : "some";
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return cat(static_cast<int>(static_cast<std::uint32_t>(value)));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return cat(value);
    default:
      return cat(value & 0xff);
  }
}

void attributes(Run& run, const char* what, CUdeviceptr pointer, CUdeviceptr base) {
  for (const Attribute& attribute : kAttributes) {
    std::array<std::uint64_t, 8> value{};
    const CUresult result =
        run.driver().cuPointerGetAttribute(value.data(), attribute.number, pointer);
    run.show(cat("cuPointerGetAttribute(", attribute.name, " of ", what, ")"),
             result == CUDA_SUCCESS ? value_text(run, attribute.number, value[0], base)
                                    : result_name(result));
  }
}

void device_memory(Run& run) {
  const CUdeviceptr address = allocate(run, 3 * kMiB + 100);
  attributes(run, "device memory", address, address);
  attributes(run, "interior", address + 2 * kMiB + 5, address);
  SETUP(cuMemFree_v2, address);
  attributes(run, "freed device memory", address, address);
  const CUdeviceptr small = allocate(run, 100);
  attributes(run, "small device memory", small + 3, small);
}

void host_memory(Run& run) {
  void* host = nullptr;
  SETUP(cuMemHostAlloc, &host, 10000, 0);
  attributes(run, "host memory", address_of(host), address_of(host));
  attributes(run, "interior of host memory", address_of(host) + 5000, address_of(host));
  SETUP(cuMemFreeHost, host);
  attributes(run, "freed host memory", address_of(host), address_of(host));
}

void foreign_memory(Run& run) {
  void* memory = ::mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  attributes(run, "unregistered memory", address_of(memory), address_of(memory));
  SETUP(cuMemHostRegister_v2, memory, 8192, 0);
  attributes(run, "registered memory", address_of(memory), address_of(memory));
  attributes(run, "memory after the registered part", address_of(memory) + 8192,
             address_of(memory));
  SETUP(cuMemHostUnregister, memory);
  attributes(run, "unregistered again", address_of(memory), address_of(memory));
  attributes(run, "null", 0, 0);
}

void other_context(Run& run) {
  const CUdeviceptr address = allocate(run, kMiB);
  const CUcontext other = new_context(run);
  attributes(run, "memory of another context", address, address);
  SETUP(cuCtxDestroy_v2, other);
}

void vmm_memory(Run& run) {
  const CUmemAllocationProp prop = device_prop();
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle first = 0;
  CUmemGenericAllocationHandle second = 0;
  SETUP(cuMemAddressReserve, &address, 8 * kMiB, 0, 0, 0);
  attributes(run, "reserved range", address, address);
  SETUP(cuMemCreate, &first, 2 * kMiB, &prop, 0);
  SETUP(cuMemCreate, &second, 4 * kMiB, &prop, 0);
  SETUP(cuMemMap, address, 2 * kMiB, 0, first, 0);
  SETUP(cuMemMap, address + 2 * kMiB, 4 * kMiB, 0, second, 0);
  attributes(run, "mapped range without access", address, address);
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  SETUP(cuMemSetAccess, address, 6 * kMiB, &access, 1);
  attributes(run, "mapped range", address, address);
  attributes(run, "second handle", address + 5 * kMiB, address);
  attributes(run, "unmapped rest", address + 7 * kMiB, address);
  SETUP(cuMemUnmap, address, 6 * kMiB);
  attributes(run, "unmapped again", address, address);
}

void several(Run& run) {
  const CUdeviceptr address = allocate(run, kMiB);
  CUmemorytype type{};
  CUdeviceptr start = 0;
  std::size_t size = 0;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                  CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* results[] = {&type, &start, &size};
  CALL("device memory", cuPointerGetAttributes, 3, wanted, results, address + 7);
  run.show("answers", cat(type, ", ", relative(start, address), ", ", size));
  int local = 0;
  start = size = 77;
  CALL("stack", cuPointerGetAttributes, 3, wanted, results, address_of(&local));
  run.show("answers for the stack", cat(type, ", ", start, ", ", size));
  CALL("null", cuPointerGetAttributes, 3, wanted, results, 0);
  CALL("none wanted", cuPointerGetAttributes, 0, wanted, results, address);
  CALL("null arrays", cuPointerGetAttributes, 1, nullptr, nullptr, address);
  wanted[1] = as_enum<CUpointer_attribute>(1000);
  CALL("one is no attribute", cuPointerGetAttributes, 3, wanted, results, address);
  CALL("attribute 0", cuPointerGetAttribute, &type, as_enum<CUpointer_attribute>(0), address);
  CALL("attribute 1000", cuPointerGetAttribute, &type, as_enum<CUpointer_attribute>(1000), address);
  CALL("null result", cuPointerGetAttribute, nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
}

void set(Run& run) {
  const CUdeviceptr address = allocate(run, kMiB);
  int value = 1;
  CALL("sync memops", cuPointerSetAttribute, &value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address);
  int got = 77;
  CALL("sync memops", cuPointerGetAttribute, &got, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address);
  run.show("sync memops", got & 0xff);
  CALL("memory type", cuPointerSetAttribute, &value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  CALL("stack", cuPointerSetAttribute, &value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address_of(&got));
  CALL("null", cuPointerSetAttribute, nullptr, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address);
}

}  // namespace

Section pointer_section() {
  return {"pointer",
          Start::kContext,
          {
              {"device", device_memory},
              {"host", host_memory},
              {"foreign", foreign_memory},
              {"other_context", other_context},
              {"vmm", vmm_memory},
              {"several", several},
              {"set", set},
          }};
}

}  // namespace nvs::conformance
