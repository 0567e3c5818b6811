# SPDX-License-Identifier: Apache-2.0
"""PyTorch that does as it is told, line by line: `sizes`, `take MIB`, `check`, `fault`. It goes on
after an out-of-memory exception, as programs that try a smaller batch do, and after a fault, which
costs it its context, as a notebook does."""

import sys

import torch

MIB = 1 << 20


def is_filled(tensor, number):
    # On the host: a comparison takes as much memory as what it compares, and there is a limit.
    return bool((tensor.cpu() == number).all())


def fault():
    """What the driver says of an index that is out of bounds, and of what follows it."""
    told = []
    for index in (1 << 20, 0):
        try:
            where = torch.tensor([index], device="cuda")
            told.append(str(torch.zeros(8, device="cuda")[where].sum().item()))
        except RuntimeError as error:
            told.append(str(error).splitlines()[0])
    return " then ".join(told)


def main():
    taken = []
    print("ready", flush=True)
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "sizes":
            free, total = torch.cuda.mem_get_info()
            print("sizes", free, total, flush=True)
        elif word == "take":
            try:
                number = len(taken) + 1
                shape = (int(rest[0]) * MIB,)
                taken.append(torch.full(shape, number, dtype=torch.uint8, device="cuda"))
                print("took", flush=True)
            except torch.cuda.OutOfMemoryError as refusal:
                print("refused", str(refusal).split(".")[0], flush=True)
        elif word == "check":
            right = all(is_filled(one, i + 1) for i, one in enumerate(taken))
            print("right" if right else "WRONG", flush=True)
        elif word == "fault":
            print(fault(), flush=True)


main()
