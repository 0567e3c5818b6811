# SPDX-License-Identifier: Apache-2.0
"""What a child sees of CUDA when its parent forked with a context in hand, and that the parent's
context is none the worse for it."""

import ctypes
import os

import torch

cuda = ctypes.CDLL("libcuda.so.1")
data = torch.arange(1000, device="cuda", dtype=torch.int64)
print("parent before", data.sum().item(), flush=True)


def codes():
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    address, count = ctypes.c_uint64(), ctypes.c_int()
    return {
        "cuDeviceGetCount": cuda.cuDeviceGetCount(ctypes.byref(count)),
        "cuMemGetInfo": cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)),
        "cuMemAlloc": cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096)),
        "cuCtxSynchronize": cuda.cuCtxSynchronize(),
        "cuInit": cuda.cuInit(0),
    }


if (child := os.fork()) == 0:
    print("child", codes(), flush=True)
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        print("child", str(error).splitlines()[0], flush=True)
    os._exit(7)
print("child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print("parent after", (data * 2).sum().item())
