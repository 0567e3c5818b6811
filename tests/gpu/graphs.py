#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch and graphs: two that capture while work is queued and do not fit into the GPU together,
and one whose graphs allocate memory under a limit. And what the daemon shows of the driver's part.

exit status: 0 all of it is as it should be, 1 something is not, 2 wrong usage

example:
  graphs.py --build build
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

import limits
import scheduler
import sharing
import swap
import swap_figures
import swap_node

PROGRAMS = pathlib.Path(__file__).with_name("programs")
LIMIT_MIB = 2048
PATIENCE_S = 10
CAPTURES_S = 20
CAPTURES_MIB = 2048  # 2.5 GiB each
CAPTURES_GIB = 5  # with two contexts and their reserve there is not room for both
SWAPS_MIN = 8
NEAR_MIB = 64


def captures(options, table):
    with swap_node.Node(options, CAPTURES_GIB) as node:
        for number in (1, 2):
            words = [options.python, PROGRAMS / "captured_beside.py", CAPTURES_S, CAPTURES_MIB]
            node.start(str(number), words)
        node.until_ended(CAPTURES_S + 100)
        for child in node.children:
            words = child.trouble() or swap_figures.last_line(child.text())
            table.judge(f"captures, {child.name}", words, "right", words.endswith("right"))
        outs = sum(len(swaps) for swaps in node.outs().values())
        table.judge("swap-outs meanwhile", str(outs), f">= {SWAPS_MIN}", outs >= SWAPS_MIN)


def used_mib():
    """Of the GPU, by everybody."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return int(subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0])


def listed_mib(pid):
    """What NVML lists for the process; None: nothing, as in a pid namespace of one's own."""
    query = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    rows = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    parts = [row.split(",") for row in rows]
    return next((int(part[1]) for part in parts if part[0].strip() == str(pid)), None)


def on_gpu(daemon, process):
    return limits.tenant_of(daemon, process.process.pid)["gpus"][0]


def fixed_mib(process, daemon):
    return on_gpu(daemon, process)["fixed_bytes"] >> 20


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)


def under_a_limit(process, daemon, table):
    def asks(line, what, wanted):
        answer = process.say(line)
        table.judge(what, answer[:70], wanted, answer.startswith(wanted))

    asks("graph 1024", "a graph with 1 GiB, limit 2 GiB", "took")
    asks("replay", "its data", "right")
    wait_for(lambda: fixed_mib(process, daemon) >= 1024)
    fixed = fixed_mib(process, daemon)
    table.judge("shown as fixed", f"{fixed} MiB", ">= 1024", fixed >= 1024)
    asks("graph 1500", "another one with 1.5 GiB", "refused")
    asks("replay", "data of the first", "right")
    asks("graph 512", "one with 0.5 GiB instead", "took")
    asks("replay", "data of both", "right")
    asks("take 1024", "1 GiB more, not of a graph", "refused")
    asks("drop", "both graphs go", "done")
    asks("take 1500", "1.5 GiB, not of a graph", "took")
    asks("drop", "that goes", "done")
    asks("graph 1024", "a graph with 1 GiB", "took")
    asks("replay", "its data", "right")


def of_the_driver(process, daemon, table):
    pid = process.process.pid
    wait_for(lambda: on_gpu(daemon, process)["driver_bytes"] is not None)
    use, listed = on_gpu(daemon, process), listed_mib(pid)
    shown = use["driver_bytes"]
    if listed is None:
        raise ValueError(f"NVML does not list the process, of which {shown} bytes are shown")
    counted = use["resident_bytes"] + use["fixed_bytes"]
    together = (counted + (shown or 0)) >> 20
    words = f"{together} MiB of {listed}"
    good = abs(together - listed) <= NEAR_MIB
    table.judge("driver's part and ours", words, f"within {NEAR_MIB}", good)
    return listed


def memory(options, table):
    with tempfile.TemporaryDirectory(prefix="nvshare-gpu-") as folder:
        with scheduler.Scheduler(options.scheduler, folder, None) as daemon:
            environment = sharing.bare_environment() | {
                "LD_PRELOAD": str(options.library.resolve()),
                "NVSHARE_FOLDER": folder,
                "NVSHARE_GPU_MEMORY_LIMIT": f"{LIMIT_MIB}MiB",
                "PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync",
            }
            process = limits.Told(options.python, environment, PROGRAMS / "graph_memory.py")
            try:
                under_a_limit(process, daemon, table)
                listed = of_the_driver(process, daemon, table)
                before = used_mib()
                answer = process.say("reset")
                table.judge("its context ends", answer, "done", answer == "done")
                kept = listed - (before - used_mib())
                # The memory of graphs is of no context: it is still there.
                wait_for(lambda: abs(fixed_mib(process, daemon) - kept) <= NEAR_MIB)
                fixed = fixed_mib(process, daemon)
                good = fixed >= 1024 and abs(fixed - kept) <= NEAR_MIB
                words = f"{fixed} MiB of {kept} that the process keeps"
                table.judge("shown as fixed then", words, f"within {NEAR_MIB}", good)
            finally:
                process.kill()


def main(arguments):
    options = limits.parse(arguments, __doc__)
    options.workload, options.sim = None, None
    table = swap.LiveTable()
    for part in (captures, memory):
        try:
            part(options, table)
        except (OSError, ValueError) as failure:
            table.judge(part.__name__, f"broken off: {failure}", "its end", False)
    return 0 if table.met() else 1


if __name__ == "__main__":
    os.environ.pop("LD_PRELOAD", None)
    sys.exit(main(sys.argv[1:]))
