// SPDX-License-Identifier: Apache-2.0
// A program for profilers and memory checkers: one small kernel, right as it is, or with the
// argument `bad` one that writes far behind its memory.
#include <cstdio>
#include <cstring>

__global__ void add_one(int* data, int count, int distance) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) data[i + distance] += 1;
}

int main(int argc, char** argv) {
  constexpr int kCount = 64;
  const bool bad = argc > 1 && std::strcmp(argv[1], "bad") == 0;
  int* data = nullptr;
  if (cudaMalloc(&data, kCount * sizeof(int)) != cudaSuccess) return 2;
  cudaMemset(data, 0, kCount * sizeof(int));
  add_one<<<1, kCount>>>(data, kCount, bad ? 1 << 20 : 0);
  int host[kCount] = {};
  const cudaError_t result = cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  int sum = 0;
  for (int value : host) sum += value;
  if (result == cudaSuccess) std::printf("sum %d\n", sum);
  cudaFree(data);
  return result == cudaSuccess ? 0 : 3;
}
