// SPDX-License-Identifier: Apache-2.0
// The kernels of all workloads. Each is a grid-stride loop, so that any launch shape gives the same
// result, and each works on small integers held in floats, so that sums are exact whatever their
// order and a check can ask for equality. workloads.ptx is made from this file by tools/gen_ptx.sh;
// the simulated driver has kernels of the same names.
#include <cstdint>

namespace {

constexpr unsigned kTile = 32;
constexpr unsigned kRowsPerThread = 4;

__device__ uint64_t first_index() { return uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ uint64_t index_stride() { return uint64_t{gridDim.x} * blockDim.x; }

}  // namespace

extern "C" {

__global__ void nvs_fill(float* dst, float value, uint64_t n) {
  for (uint64_t i = first_index(); i < n; i += index_stride()) dst[i] = value;
}

__global__ void nvs_step(float* dst, float value, uint64_t n) {
  for (uint64_t i = first_index(); i < n; i += index_stride()) dst[i] += value;
}

__global__ void nvs_add(float* __restrict__ dst, const float* __restrict__ src, uint64_t n) {
  for (uint64_t i = first_index(); i < n; i += index_stride()) dst[i] += src[i];
}

__global__ void nvs_add3(float* __restrict__ dst, const float* __restrict__ a,
                         const float* __restrict__ b, uint64_t n) {
  for (uint64_t i = first_index(); i < n; i += index_stride()) dst[i] = a[i] + b[i];
}

// `initial` is what the simulator expects of elements that its kernels skip; a GPU skips none.
__global__ void nvs_check(const float* __restrict__ src, float initial, float expected, uint64_t n,
                          uint64_t* mismatches) {
  (void)initial;
  unsigned long long wrong = 0;
  for (uint64_t i = first_index(); i < n; i += index_stride()) wrong += src[i] != expected;
  if (wrong != 0) atomicAdd(reinterpret_cast<unsigned long long*>(mismatches), wrong);
}

// Launched with blocks of 32 x 8 threads: each thread computes four rows of a 32 x 32 tile.
__global__ void nvs_matmul(float* __restrict__ c, const float* __restrict__ a,
                           const float* __restrict__ b, uint32_t n) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const unsigned tiles = (n + kTile - 1) / kTile;
  const unsigned tx = threadIdx.x;
  for (unsigned tile_row = blockIdx.y; tile_row < tiles; tile_row += gridDim.y) {
    for (unsigned tile_column = blockIdx.x; tile_column < tiles; tile_column += gridDim.x) {
      const unsigned column = tile_column * kTile + tx;
      float sum[kRowsPerThread] = {};
      for (unsigned step = 0; step < tiles; ++step) {
        for (unsigned y = threadIdx.y; y < kTile; y += kTile / kRowsPerThread) {
          const unsigned a_row = tile_row * kTile + y, a_column = step * kTile + tx;
          const unsigned b_row = step * kTile + y;
          tile_a[y][tx] = a_row < n && a_column < n ? a[uint64_t{a_row} * n + a_column] : 0.0f;
          tile_b[y][tx] = b_row < n && column < n ? b[uint64_t{b_row} * n + column] : 0.0f;
        }
        __syncthreads();
        for (unsigned k = 0; k < kTile; ++k) {
          for (unsigned r = 0; r < kRowsPerThread; ++r) {
            sum[r] += tile_a[threadIdx.y + r * (kTile / kRowsPerThread)][k] * tile_b[k][tx];
          }
        }
        __syncthreads();
      }
      for (unsigned r = 0; r < kRowsPerThread; ++r) {
        const unsigned row = tile_row * kTile + threadIdx.y + r * (kTile / kRowsPerThread);
        if (row < n && column < n) c[uint64_t{row} * n + column] = sum[r];
      }
    }
  }
}

// As many groups of n_state threads as the launch has share the weights of each state element. Four
// loads under way at once in each thread are what it takes to keep the memory of an H200 busy.
__global__ void nvs_infer(const float* __restrict__ weights, float* state, uint64_t n_weights,
                          uint64_t n_state) {
  const uint64_t groups = index_stride() < n_state ? 1 : index_stride() / n_state;
  const uint64_t stride = groups * n_state;
  for (uint64_t k = first_index(); k < stride; k += index_stride()) {
    float sum[4] = {};
    uint64_t i = k;
    for (; i + 3 * stride < n_weights; i += 4 * stride) {
      for (unsigned lane = 0; lane < 4; ++lane) sum[lane] += weights[i + lane * stride];
    }
    for (; i < n_weights; i += stride) sum[0] += weights[i];
    atomicAdd(&state[k % n_state], sum[0] + sum[1] + sum[2] + sum[3]);
  }
}

__global__ void nvs_spin(uint64_t ns) {
  if (first_index() != 0) return;
  uint64_t start = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < ns);
}

}  // extern "C"
