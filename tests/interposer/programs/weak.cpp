// SPDX-License-Identifier: Apache-2.0
// A program that can do without a driver: it names the functions, and does not insist on them.
#include <cstdio>

#include "cuda_api/cuda.h"

extern "C" {
[[gnu::weak]] decltype(cuInit) cuInit;
[[gnu::weak]] decltype(cuMemAlloc_v2) cuMemAlloc_v2;
[[gnu::weak]] decltype(cuLaunchKernel) cuLaunchKernel;
}

int main() {
  CUdeviceptr address = 0;
  const bool initialised = cuInit != nullptr && cuInit(0) == CUDA_SUCCESS;
  const bool allocated = cuMemAlloc_v2 != nullptr && cuMemAlloc_v2(&address, 4096) == CUDA_SUCCESS;
  const bool launched =
      cuLaunchKernel != nullptr &&
      cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS;
  std::printf("driver: %d, memory: %d, launch: %d\n", initialised, allocated, launched);
  return initialised && allocated && launched ? 0 : 1;
}
