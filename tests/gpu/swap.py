#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures programs whose memory does not fit into a GPU together, under nvshare's daemon.

parts:
  train       train.py bare in three modes at once, then eager+graph and compile+compile at once on
              7 GiB: loss and weights must be those of the bare runs, with 20 swap-outs a pair
  soak        two workloads of 3 GiB on 4 GiB that rewrite all they have: a row every 20 s, and
              whether descriptors, mappings or memory grew; 200 changes of turn, data right
  first       12 GiB, 1 GiB and 12 GiB, one after the other, on 16 GiB: each swap-out's time; the
              first one of a tenant, 12 s after it was not alone, may take twice as long as
              later ones
  jax         JAX with its usual preallocation beside 22 GiB on 24 GiB: what of it is copied
  allocators  cudaMallocAsync and expandable segments of PyTorch, CuPy's async pool, each twice

Turns are of 1 s (first: 12 s, jax: 2 s). Prints a table as Markdown, each row as soon as it is
known, so that a run that is cut off shows what it had. A framework that is missing is said and its
rows are skipped.
A swap-out is what `nvsharectl trace` shows as `moving out`; parts close together count as one.

exit status: 0 every target is met, 1 one is missed or nothing was measured, 2 wrong usage

examples:
  swap.py --build build --programs FOLDER_OF_TRAIN
  swap.py --build . --programs prog --parts train,allocators        where bin/ and lib/ lie here
  swap.py --sim 32 --parts soak,first --soak-seconds 20 --every 4 --soak-turns 5     without a GPU
"""

import argparse
import os
import pathlib
import sys

import sharing
import swap_programs
import swap_workloads

RUN = {
    "train": swap_programs.train,
    "soak": swap_workloads.soak,
    "first": swap_workloads.first,
    "jax": swap_programs.jax,
    "allocators": swap_programs.allocators,
}
NEED_TRAIN = ("train", "allocators")


class LiveTable(sharing.Table):
    """A table whose rows are on the screen as soon as they are known."""

    def __init__(self):
        super().__init__()
        self.judged = False
        print("| what | figure | target | |\n| --- | --- | --- | --- |", flush=True)

    def add(self, what, figure, target="", verdict=""):
        row = (what, figure.replace("|", "/"), target, verdict)
        super().add(*row)
        print("| " + " | ".join(row) + " |", flush=True)

    def judge(self, what, figure, target, good):
        self.judged = True
        self.add(what, figure, target, "ok" if good else "MISSED")


def parts_of(text):
    parts = text.split(",")
    for part in parts:
        if part not in RUN:
            raise argparse.ArgumentTypeError(f"{part!r} is none of {', '.join(RUN)}")
    return parts


def parse(arguments):
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    add = parser.add_argument
    add("--build", type=pathlib.Path, default="build", help="folder of bin/ and lib/ (build)")
    add("--programs", type=pathlib.Path, help="folder of train.py, for train and allocators")
    add("--parts", type=parts_of, default=list(RUN), help="some of them, with commas (all)")
    add("--steps", type=int, default=800, help="of train.py in part train (800)")
    add("--soak-seconds", type=int, default=230, help="how long the workloads run (230)")
    add("--soak-turns", type=int, default=swap_workloads.TURNS_MIN, help="the target (200)")
    add("--every", type=float, default=20, help="seconds between rows of the soak (20)")
    add("--sim", type=int, metavar="SCALE", help="on the simulator, sizes divided by this")
    add("--python", default=sys.executable, help="the Python that has the frameworks")
    options = parser.parse_args(arguments)
    options.workload = options.build / "bin" / "nvshare-workload"
    needed = [options.workload]
    if any(part in NEED_TRAIN for part in options.parts):
        if options.programs is None:
            parser.error("train and allocators need --programs")
        needed.append(options.programs / "train.py")
    sharing.find_build(parser, options, needed)
    return options


def main(arguments):
    options = parse(arguments)
    table = LiveTable()
    for part in options.parts:
        try:
            RUN[part](options, table)
        except (OSError, ValueError) as failure:
            # The daemon is gone or does not answer. The next part has one of its own.
            table.judge(part, f"broken off: {failure}", "its end", False)
    return 0 if table.judged and table.met() else 1


if __name__ == "__main__":
    os.environ.pop("LD_PRELOAD", None)
    sys.exit(main(sys.argv[1:]))
