# SPDX-License-Identifier: Apache-2.0
"""The hash of chunk_hash.ptx on a GPU, against the same in NumPy, and how fast it is.

usage: hash_check.py CHUNK_HASH_PTX
"""

import sys
import time

import cupy
import numpy

BLOCKS, BLOCK_THREADS = 512, 256
THREADS = BLOCKS * BLOCK_THREADS
U64 = numpy.uint64


def rotated(value, by):
    return (value << U64(by)) | (value >> U64(64 - by))


def mixed(value, factor, shift):
    value = value * U64(factor)
    return value ^ (value >> U64(shift))


def reference(data):
    """Of bytes, as (low, high, not zero)."""
    words = data.view(U64).reshape(-1, 2)
    thread = numpy.arange(THREADS, dtype=U64)
    low = thread + U64(0x9E3779B97F4A7C15)
    high = thread ^ U64(0x243F6A8885A308D3)
    for begin in range(0, len(words), THREADS):
        first, second = words[begin : begin + THREADS].T
        n = len(first)
        low[:n] = mixed(low[:n] ^ (first + rotated(second, 21)), 0xBF58476D1CE4E5B9, 29)
        high[:n] = mixed(high[:n] ^ (second + rotated(first, 43)), 0x94D049BB133111EB, 31)
    low = mixed(low, 0xFF51AFD7ED558CCD, 32)
    high = mixed(high, 0xC4CEB9FE1A85EC53, 32)
    return int(low.sum()), int(high.sum()), int(bool(words.any()))


def main():
    kernel = cupy.RawModule(path=sys.argv[1]).get_function("nvs_hash_chunk")

    def launch(data, out):
        kernel((BLOCKS,), (BLOCK_THREADS,), (data, U64(data.nbytes // 16), out))

    def hashed(data):
        out = cupy.zeros(3, dtype=cupy.uint64)
        launch(data, out)
        return tuple(int(value) for value in out.get())

    random = numpy.random.default_rng(1)
    wrong = 0
    for size in (16, 4096, 2 << 20, (64 << 20) - 4096, 64 << 20):
        some = random.integers(0, 256, size, dtype=numpy.uint8)
        for data in (some, numpy.zeros(size, numpy.uint8)):
            wrong += hashed(cupy.asarray(data)) != reference(data)
            data[-1] ^= 1  # the last bit of all
            wrong += hashed(cupy.asarray(data)) != reference(data)
    chunks = [cupy.zeros(64 << 20, dtype=cupy.uint8) for _ in range(192)]
    out = cupy.zeros(3, dtype=cupy.uint64)
    for chunk in chunks:
        launch(chunk, out)
    cupy.cuda.Device().synchronize()
    begin = time.perf_counter()
    for chunk in chunks:
        launch(chunk, out)
    cupy.cuda.Device().synchronize()
    took = time.perf_counter() - begin
    rate = len(chunks) * chunks[0].nbytes / took / 1e12
    verdict = "ok" if wrong == 0 else f"{wrong} WRONG"
    print(f"hash_check: {verdict}; 12 GiB in {took * 1e3:.1f} ms, {rate:.2f} TB/s")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
