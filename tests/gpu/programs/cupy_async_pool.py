# SPDX-License-Identifier: Apache-2.0
"""CuPy on the driver's own pool: SUMS sums of 4.7 GiB into new memory, all checked."""

import sys

import cupy

NUMBERS = 600 << 20
AHEAD = 8

cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
sums = int(sys.argv[1])
x = cupy.arange(NUMBERS, dtype=cupy.float64)
for count in range(1, sums + 1):
    x = x + 1
    if count % AHEAD == 0:
        cupy.cuda.Device().synchronize()
wrong = 0
# In parts: to compare all at once would need as much memory again.
for start in range(0, NUMBERS, NUMBERS // 8):
    part = x[start : start + NUMBERS // 8]
    expected = cupy.arange(start, start + part.size, dtype=cupy.float64) + sums
    wrong += int((part != expected).sum())
print(f"{sums} sums, {wrong} numbers wrong, the last one {int(x[-1])}")
