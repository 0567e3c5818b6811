# SPDX-License-Identifier: Apache-2.0
"""PyTorch whose graphs allocate memory, with PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync, and
that does as it is told, line by line: `graph MIB`, `replay`, `take MIB`, `drop`, `reset`."""

import ctypes
import sys

import torch

MIB = 1 << 20


class Graphs:
    """Each fills memory of its own with its number when it is replayed."""

    def __init__(self):
        self.all = []
        self.taken = []

    def add(self, mib):
        graph = torch.cuda.CUDAGraph()
        number = len(self.all) + 1
        with torch.cuda.graph(graph):
            filled = torch.full((mib * MIB,), number, dtype=torch.uint8, device="cuda")
        self.all.append((graph, filled, number))

    def replay(self):
        for graph, _, _ in self.all:
            graph.replay()
        torch.cuda.synchronize()
        # On the host: a comparison takes memory too, and there is a limit.
        return all(bool((filled.cpu() == number).all()) for _, filled, number in self.all)

    def drop(self):
        for graph, _, _ in self.all:
            graph.reset()
        self.all, self.taken = [], []
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def reset():
    """Of the context, with all that is left in it. Nothing of PyTorch works afterwards."""
    result = ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxReset_v2(0)
    return "done" if result == 0 else f"error {result}"


def obey(graphs, word, mib):
    if word == "graph":
        graphs.add(mib)
        return "took"
    if word == "take":
        graphs.taken.append(torch.zeros(mib * MIB, dtype=torch.uint8, device="cuda"))
        return "took"
    if word == "replay":
        return "right" if graphs.replay() else "WRONG"
    if word == "drop":
        graphs.drop()
        return "done"
    return reset()


def main():
    graphs = Graphs()
    torch.zeros(1, device="cuda")
    print("ready", flush=True)
    for line in sys.stdin:
        word, *rest = line.split()
        try:
            answer = obey(graphs, word, int(rest[0]) if rest else 0)
        except torch.cuda.OutOfMemoryError as refusal:
            answer = "refused " + str(refusal).split(".")[0]
        except RuntimeError as error:
            answer = "failed " + str(error).splitlines()[0]
        print(answer, flush=True)


main()
