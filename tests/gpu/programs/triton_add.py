# SPDX-License-Identifier: Apache-2.0
"""Triton: a kernel that is compiled here, with a launcher that a C compiler makes."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_scaled(a, b, out, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    total = tl.load(a + index, mask=inside) + 3 * tl.load(b + index, mask=inside)
    tl.store(out + index, total, mask=inside)


n = 1_000_003
a = torch.arange(n, device="cuda", dtype=torch.int64)
b = a % 17
out = torch.empty_like(a)
add_scaled[(triton.cdiv(n, 1024),)](a, b, out, n, BLOCK=1024)
print(out.sum().item(), torch.equal(out, a + 3 * b), out[-3:].tolist())
