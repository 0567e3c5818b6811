// SPDX-License-Identifier: Apache-2.0
// A plug-in that brings a driver of its own making along, for machines without one.
#include "tests/interposer/programs/program.h"

#pragma GCC visibility push(default)
extern "C" CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

extern "C" CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  *address = bytes + 42;
  return CUDA_SUCCESS;
}

extern "C" int run_plugin() {
  CUdeviceptr address = 0;
  const CUresult results[] = {cuInit(0), cuMemAlloc_v2(&address, 1000), cuMemAlloc_v2(&address, 8)};
  return std::printf("emulated: %d %d %d, %llu\n", results[0], results[1], results[2], address);
}
#pragma GCC visibility pop
