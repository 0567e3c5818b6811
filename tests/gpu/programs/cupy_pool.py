# SPDX-License-Identifier: Apache-2.0
"""CuPy: an FFT and back, a kernel compiled at run time, and the memory pool."""

import cupy

pool = cupy.get_default_memory_pool()
values = cupy.arange(1 << 20, dtype=cupy.float64) % 1000
back = cupy.fft.irfft(cupy.fft.rfft(values), n=values.size)
print("fft", int(cupy.rint(back).astype(cupy.int64).sum()), bool((cupy.rint(back) == values).all()))

squares = cupy.RawKernel(
    r"""extern "C" __global__ void squares(const long long* in, long long* out, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) out[i] = in[i] * in[i] % 1009;
    }""",
    "squares",
)
numbers = cupy.arange(100000, dtype=cupy.int64)
result = cupy.empty_like(numbers)
squares((numbers.size // 256 + 1,), (256,), (numbers, result, numbers.size))
print("raw kernel", int(result.sum()))

print("pool", pool.used_bytes(), pool.total_bytes())
del values, back, numbers, result
pool.free_all_blocks()
print("pool", pool.used_bytes(), pool.total_bytes())
with cupy.cuda.Stream(non_blocking=True) as stream:
    pinned = cupy.cuda.alloc_pinned_memory(1 << 20)
    block = cupy.cuda.alloc(1 << 20)
    block.memset_async(7, 1 << 20, stream)
    block.copy_to_host_async(pinned.ptr, 1 << 20, stream)
    stream.synchronize()
print("copied", set(bytes(memoryview(pinned))[: 1 << 20]))
cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
print("async pool", int(cupy.ones(1 << 16, dtype=cupy.int32).sum()))
