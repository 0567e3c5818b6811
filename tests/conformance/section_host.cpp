// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include <sys/mman.h>

#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

constexpr std::size_t kPage = 4096;

char* pages(std::size_t count) {
  void* memory =
      ::mmap(nullptr, count * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

void allocate_host(Run& run) {
  void* host = nullptr;
  for (unsigned flags = 0; flags < 8; ++flags) {
    host = nullptr;
    CALL(cat("flags ", flags), cuMemHostAlloc, &host, 1000, flags);
    unsigned got = 77;
    CALL(cat("created with ", flags), cuMemHostGetFlags, &got, host);
    run.show(cat("flags of ", flags), got);
    CUdeviceptr device = 0;
    CALL(cat("created with ", flags), cuMemHostGetDevicePointer_v2, &device, host, 0);
    run.show(cat("same address with ", flags), device == address_of(host));
    CALL(cat("created with ", flags), cuMemFreeHost, host);
  }
  CALL("flags 8", cuMemHostAlloc, &host, 1000, 8);
  CALL("flags 0x100", cuMemHostAlloc, &host, 1000, 0x100);
  CALL("0 bytes", cuMemHostAlloc, &host, 0, 0);
  CALL("null", cuMemHostAlloc, nullptr, 1000, 0);
  CALL("2^60 bytes", cuMemHostAlloc, &host, std::size_t{1} << 60, 0);
  CALL("1000 bytes", cuMemAllocHost_v2, &host, 1000);
  unsigned got = 77;
  CALL("of cuMemAllocHost", cuMemHostGetFlags, &got, host);
  run.show("flags of cuMemAllocHost", got);
  CALL("of cuMemAllocHost", cuMemFreeHost, host);
  CALL("0 bytes", cuMemAllocHost_v2, &host, 0);
  CALL("null", cuMemAllocHost_v2, nullptr, 1000);
}

void free_host(Run& run) {
  void* host = nullptr;
  SETUP(cuMemHostAlloc, &host, 3 * kPage, 0);
  char local = 0;
  CALL("null", cuMemFreeHost, nullptr);
  CALL("stack", cuMemFreeHost, &local);
  CALL("interior", cuMemFreeHost, static_cast<char*>(host) + kPage);
  CALL("", cuMemFreeHost, host);
  CALL("double free", cuMemFreeHost, host);
}

void device_pointer(Run& run) {
  void* host = nullptr;
  SETUP(cuMemHostAlloc, &host, 3 * kPage, 0);
  CUdeviceptr device = 0;
  CALL("interior", cuMemHostGetDevicePointer_v2, &device, static_cast<char*>(host) + 5, 0);
  run.show("interior is kept", device == address_of(host) + 5);
  CALL("flags 1", cuMemHostGetDevicePointer_v2, &device, host, 1);
  CALL("null result", cuMemHostGetDevicePointer_v2, nullptr, host, 0);
  CALL("null host", cuMemHostGetDevicePointer_v2, &device, nullptr, 0);
  char local = 0;
  CALL("stack", cuMemHostGetDevicePointer_v2, &device, &local, 0);
  unsigned flags = 77;
  CALL("interior", cuMemHostGetFlags, &flags, static_cast<char*>(host) + 5);
  CALL("stack", cuMemHostGetFlags, &flags, &local);
  CALL("null", cuMemHostGetFlags, nullptr, host);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  CALL("host memory", cuMemGetAddressRange_v2, &base, &size, address_of(host) + 5);
  run.show("range of host memory", cat(relative(base, address_of(host)), ", size ", size));
  SETUP(cuMemFreeHost, host);
  CALL("freed", cuMemHostGetDevicePointer_v2, &device, host, 0);
  CALL("freed", cuMemHostGetFlags, &flags, host);
}

void register_memory(Run& run) {
  char* memory = pages(16);
  CALL("4 pages", cuMemHostRegister_v2, memory, 4 * kPage, 0);
  CALL("the same again", cuMemHostRegister_v2, memory, 4 * kPage, 0);
  CALL("overlap at the end", cuMemHostRegister_v2, memory + 3 * kPage, 2 * kPage, 0);
  CALL("inside", cuMemHostRegister_v2, memory + kPage, kPage, 0);
  CALL("neighbour", cuMemHostRegister_v2, memory + 4 * kPage, kPage, 0);
  CUdeviceptr device = 0;
  CALL("registered", cuMemHostGetDevicePointer_v2, &device, memory + 10, 0);
  run.show("same address", device == address_of(memory + 10));
  unsigned flags = 77;
  CALL("registered", cuMemHostGetFlags, &flags, memory);
  run.show("flags", flags);
  CALL("registered", cuMemFreeHost, memory);
  CALL("interior", cuMemHostUnregister, memory + kPage);
  CALL("", cuMemHostUnregister, memory);
  CALL("twice", cuMemHostUnregister, memory);
  CALL("neighbour", cuMemHostUnregister, memory + 4 * kPage);
  CALL("never registered", cuMemHostUnregister, memory + 8 * kPage);
  CALL("null", cuMemHostUnregister, nullptr);
  CALL("unregistered", cuMemHostGetDevicePointer_v2, &device, memory, 0);
}

void register_shapes(Run& run) {
  char* memory = pages(16);
  CALL("0 bytes", cuMemHostRegister_v2, memory, 0, 0);
  CALL("null", cuMemHostRegister_v2, nullptr, kPage, 0);
  CALL("odd address and size", cuMemHostRegister_v2, memory + 100, 200, 0);
  CALL("same page, other bytes", cuMemHostRegister_v2, memory + 1000, 200, 0);
  CALL("of other bytes", cuMemHostUnregister, memory + 1000);
  CALL("of odd address", cuMemHostUnregister, memory + 100);
  CALL("wraps around", cuMemHostRegister_v2, memory, ~std::size_t{0} - kPage, 0);
  for (const unsigned flags : {1U, 2U, 3U, 8U, 16U, 0x100U}) {
    if (CALL(cat("flags ", flags), cuMemHostRegister_v2, memory, kPage, flags) != CUDA_SUCCESS)
      continue;
    unsigned got = 77;
    CALL(cat("registered with ", flags), cuMemHostGetFlags, &got, memory);
    run.show(cat("flags of ", flags), got);
    CALL(cat("registered with ", flags), cuMemHostUnregister, memory);
  }
  void* host = nullptr;
  SETUP(cuMemHostAlloc, &host, kPage, 0);
  CALL("memory of cuMemHostAlloc", cuMemHostRegister_v2, host, kPage, 0);
  CALL("memory of cuMemHostAlloc", cuMemHostUnregister, host);
  CALL("device memory", cuMemHostRegister_v2, pointer_of(allocate(run, kMiB)), kMiB, 0);
}

void unmapped(Run& run) {
  char* memory = pages(4);
  ::munmap(memory + kPage, kPage);
  CALL("with a hole", cuMemHostRegister_v2, memory, 4 * kPage, 0);
  CALL("a hole alone", cuMemHostRegister_v2, memory + kPage, kPage, 0);
  char* readable = pages(1);
  readable[0] = 1;
  ::mprotect(readable, kPage, PROT_READ);
  CALL("read-only page", cuMemHostRegister_v2, readable, kPage, 0);
}

void used_by_kernel(Run& run) {
  const Kernels kernels = load_kernels(run);
  void* host = nullptr;
  SETUP(cuMemHostAlloc, &host, kPage, CU_MEMHOSTALLOC_DEVICEMAP);
  auto* floats = static_cast<float*>(host);
  floats[7] = 0;
  run.show("fill of host memory", launch_fill(run, kernels.fill, address_of(host), 3, 16, nullptr));
  CALL("", cuCtxSynchronize);
  run.show("host sees the value", floats[7] == 3.0F);
}

}  // namespace

Section host_section() {
  return {"host",
          Start::kContext,
          {
              {"allocate", allocate_host},
              {"free", free_host},
              {"device_pointer", device_pointer},
              {"register", register_memory},
              {"register_shapes", register_shapes},
              {"unmapped", unmapped},
              {"used_by_kernel", used_by_kernel},
          }};
}

}  // namespace nvs::conformance
