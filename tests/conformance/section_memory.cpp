// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void sizes(Run& run) {
  CUdeviceptr address = 77;
  CALL("0 bytes", cuMemAlloc_v2, &address, 0);
  run.show("address untouched by a failure", address == 77);
  CALL("null, 16 bytes", cuMemAlloc_v2, nullptr, 16);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{511}, std::size_t{513}, kMiB,
                                  2 * kMiB, 2 * kMiB + 1, 5 * kMiB, 64 * kMiB}) {
    address = 0;
    CALL(cat(bytes, " bytes"), cuMemAlloc_v2, &address, bytes);
    run.show(cat(bytes, " bytes aligned to 512"), address != 0 && address % 512 == 0);
    run.show(cat(bytes, " bytes aligned to 2 MiB"), address % (2 * kMiB) == 0 || bytes < 2 * kMiB);
    CALL(cat(bytes, " bytes"), cuMemFree_v2, address);
  }
  address = 77;
  CALL("1 TiB", cuMemAlloc_v2, &address, kTiB);
  run.show("address untouched by out of memory", address == 77);
  CALL("2^60 bytes", cuMemAlloc_v2, &address, std::size_t{1} << 60);
  CALL("2^64 - 1 bytes", cuMemAlloc_v2, &address, ~std::size_t{0});
  CALL("16 bytes after out of memory", cuMemAlloc_v2, &address, 16);
}

void frees(Run& run) {
  const CUdeviceptr address = allocate(run, 4 * kMiB);
  CALL("null", cuMemFree_v2, 0);
  CALL("interior", cuMemFree_v2, address + 512);
  CALL("interior by 2 MiB", cuMemFree_v2, address + 2 * kMiB);
  CALL("one past the end", cuMemFree_v2, address + 4 * kMiB);
  CALL("address 1", cuMemFree_v2, 1);
  CALL("address 4096", cuMemFree_v2, 4096);
  int on_stack = 0;
  CALL("host stack", cuMemFree_v2, address_of(&on_stack));
  CALL("", cuMemFree_v2, address);
  CALL("double free", cuMemFree_v2, address);
  const CUdeviceptr small = allocate(run, 256);
  CALL("small", cuMemFree_v2, small);
  CALL("small, double free", cuMemFree_v2, small);
  void* host = nullptr;
  SETUP(cuMemHostAlloc, &host, 4096, 0);
  CALL("host memory", cuMemFree_v2, address_of(host));
  CALL("device memory", cuMemFreeHost, pointer_of(allocate(run, kMiB)));
  CALL("", cuMemFreeHost, host);
}

void small_neighbours(Run& run) {
  const CUdeviceptr first = allocate(run, 100);
  const CUdeviceptr second = allocate(run, 100);
  run.show("512 bytes apart", second - first == 512 || first - second == 512);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  CALL("of 100 bytes", cuMemGetAddressRange_v2, &base, &size, first);
  run.show("range of 100 bytes", cat(relative(base, first), ", size ", size));
  CALL("byte 99", cuMemGetAddressRange_v2, &base, &size, first + 99);
  CALL("byte 100", cuMemGetAddressRange_v2, &base, &size, first + 100);
  CALL("byte 511", cuMemGetAddressRange_v2, &base, &size, first + 511);
}

void info(Run& run) {
  std::size_t before = 0;
  std::size_t during = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  CALL("", cuMemGetInfo_v2, &before, &total);
  std::size_t device_total = 0;
  SETUP(cuDeviceTotalMem_v2, &device_total, 0);
  run.show("total equals cuDeviceTotalMem", total == device_total);
  run.show("free is less than total", before < total);
  const CUdeviceptr address = allocate(run, 256 * kMiB);
  CALL("with 256 MiB", cuMemGetInfo_v2, &during, &total);
  run.show("free shrank by 256 MiB", before - during == 256 * kMiB);
  SETUP(cuMemFree_v2, address);
  CALL("without", cuMemGetInfo_v2, &after, &total);
  run.show("free is as before", before == after);
  CALL("null free", cuMemGetInfo_v2, nullptr, &total);
  CALL("null total", cuMemGetInfo_v2, &before, nullptr);
  CALL("both null", cuMemGetInfo_v2, nullptr, nullptr);
  const CUdeviceptr odd = allocate(run, 3 * kMiB + 1);
  CALL("with 3 MiB + 1", cuMemGetInfo_v2, &during, &total);
  run.show("free shrank by MiB", (after - during) / kMiB);
  SETUP(cuMemFree_v2, odd);
  CUdeviceptr tiny[3] = {};
  for (CUdeviceptr& one : tiny) one = allocate(run, 1024);
  CALL("with three times 1 KiB", cuMemGetInfo_v2, &during, &total);
  run.show("free shrank by at most 2 MiB", after - during <= 2 * kMiB);
}

void pitch(Run& run) {
  for (const std::size_t width : {std::size_t{1}, std::size_t{100}, std::size_t{511},
                                  std::size_t{512}, std::size_t{513}, std::size_t{5000}}) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    CALL(cat("width ", width), cuMemAllocPitch_v2, &address, &bytes, width, 10, 4);
    run.show(cat("pitch of ", width), bytes);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    CALL(cat("pitched ", width), cuMemGetAddressRange_v2, &base, &size, address);
    run.show(cat("size of ", width), size);
    CALL(cat("pitched ", width), cuMemFree_v2, address);
  }
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  for (const unsigned element : {0U, 1U, 2U, 3U, 4U, 8U, 16U, 32U})
    CALL(cat("element size ", element), cuMemAllocPitch_v2, &address, &bytes, 64, 4, element);
  CALL("width 0", cuMemAllocPitch_v2, &address, &bytes, 0, 10, 4);
  CALL("height 0", cuMemAllocPitch_v2, &address, &bytes, 10, 0, 4);
  CALL("null pitch", cuMemAllocPitch_v2, &address, nullptr, 10, 10, 4);
  CALL("null address", cuMemAllocPitch_v2, nullptr, &bytes, 10, 10, 4);
  CALL("1 TiB", cuMemAllocPitch_v2, &address, &bytes, kGiB, kKiB, 4);
}

void range(Run& run) {
  const CUdeviceptr address = allocate(run, 3 * kMiB + 100);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, 2 * kMiB, 3 * kMiB + 99}) {
    CALL(cat("offset ", offset), cuMemGetAddressRange_v2, &base, &size, address + offset);
    run.show(cat("range at ", offset), cat(relative(base, address), ", size ", size));
  }
  CALL("one past the end", cuMemGetAddressRange_v2, &base, &size, address + 3 * kMiB + 100);
  CALL("null base", cuMemGetAddressRange_v2, nullptr, &size, address);
  CALL("null size", cuMemGetAddressRange_v2, &base, nullptr, address);
  CALL("both null", cuMemGetAddressRange_v2, nullptr, nullptr, address);
  CALL("address 0", cuMemGetAddressRange_v2, &base, &size, 0);
  CALL("address 4096", cuMemGetAddressRange_v2, &base, &size, 4096);
  CALL("host stack", cuMemGetAddressRange_v2, &base, &size, address_of(&size));
  SETUP(cuMemFree_v2, address);
  CALL("freed", cuMemGetAddressRange_v2, &base, &size, address);
}

// Freeing waits for the work that uses the memory, and work on freed memory never starts.
void free_under_work(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUstream stream = new_stream(run);
  const CUdeviceptr address = allocate(run, kMiB);
  hold(run, stream);
  run.show("spin", launch_spin(run, kernels.spin, 20'000'000, stream));
  run.show("fill", launch_fill(run, kernels.fill, address, 1, 256, stream));
  CALL("work queued", cuStreamQuery, stream);
  let_go();
  CALL("with work in flight", cuMemFree_v2, address);
  CALL("after the free", cuStreamQuery, stream);
}

void handle_for_range(Run& run) {
  const CUdeviceptr address = allocate(run, 4 * kMiB);
  int fd = -1;
  CALL("size 0", cuMemGetHandleForAddressRange, &fd, address, 0,
       CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  CALL("odd size", cuMemGetHandleForAddressRange, &fd, address, 100,
       CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  CALL("no such type", cuMemGetHandleForAddressRange, &fd, address, 2 * kMiB,
       as_enum<CUmemRangeHandleType>(77), 0);
}

}  // namespace

Section memory_section() {
  return {"memory",
          Start::kContext,
          {
              {"info", info},
              {"sizes", sizes},
              {"frees", frees},
              {"small_neighbours", small_neighbours},
              {"pitch", pitch},
              {"range", range},
              {"free_under_work", free_under_work},
              {"handle_for_range", handle_for_range},
          }};
}

}  // namespace nvs::conformance
