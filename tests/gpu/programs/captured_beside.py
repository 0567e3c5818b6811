# SPDX-License-Identifier: Apache-2.0
"""PyTorch that captures while work is queued on another stream, round after round for so many
seconds, with so many MiB. Where memory left under that work, its numbers are wrong at the end.

usage: captured_beside.py SECONDS MIB
"""

import ctypes
import sys
import time

import torch

MIB = 1 << 20
RELAXED = 2
QUEUED = 40
# Of a capture, so that windows end in the midst of one.
CAPTURE_S = 0.05

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result != 0:
        raise SystemExit(f"{name} returned {result}")


def capture(stream, work):
    """An executable graph of it, and what else is to be destroyed."""
    handle = ctypes.c_void_p(stream.cuda_stream)
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuStreamBeginCapture_v2", handle, RELAXED)
    with torch.cuda.stream(stream):
        work()
    time.sleep(CAPTURE_S)
    call("cuStreamEndCapture", handle, ctypes.byref(graph))
    call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    return executable, graph


def is_everywhere(tensor, number):
    # A piece at a time: a comparison takes memory too.
    return all(bool((piece == number).all()) for piece in tensor.split(16 * MIB))


def main():
    seconds, mib = float(sys.argv[1]), int(sys.argv[2])
    counted = torch.zeros(mib * MIB // 4, dtype=torch.int32, device="cuda")
    captured = torch.zeros(mib * MIB // 16, dtype=torch.int32, device="cuda")
    queue, other = torch.cuda.Stream(), torch.cuda.Stream()
    captured.add_(0)  # loaded before it is captured
    torch.cuda.synchronize()
    rounds = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with torch.cuda.stream(queue):
            for _ in range(QUEUED):
                counted.add_(1)
        executable, graph = capture(other, lambda: captured.add_(1))
        call("cuGraphLaunch", executable, ctypes.c_void_p(other.cuda_stream))
        torch.cuda.synchronize()
        call("cuGraphExecDestroy", executable)
        call("cuGraphDestroy", graph)
        rounds += 1
    right = is_everywhere(counted, rounds * QUEUED) and is_everywhere(captured, rounds)
    print(f"{rounds} rounds, {'right' if right else 'WRONG'}", flush=True)


main()
