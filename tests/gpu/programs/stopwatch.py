# SPDX-License-Identifier: Apache-2.0
"""Times groups of matrix products with events and with the host's clock, and prints both.

Beside another tenant the host's clock shows what the program waited for its turn; times by events
leave it out (docs/adr/0010).
"""

import statistics
import time

import torch

GROUPS = 30
PRODUCTS = 20
UNMEASURED = 3
SIZE = 8192


def group(left, right, out):
    """Milliseconds that a group took, by events and by the host's clock."""
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    began = time.perf_counter()
    start.record()
    for _ in range(PRODUCTS):
        torch.mm(left, right, out=out)
    end.record()
    end.synchronize()
    return start.elapsed_time(end), (time.perf_counter() - began) * 1000


def summary(times_ms):
    return f"median {statistics.median(times_ms):.2f} max {max(times_ms):.2f}"


left, right, out = (torch.ones(SIZE, SIZE, dtype=torch.bfloat16, device="cuda") for _ in range(3))
for _ in range(UNMEASURED):
    group(left, right, out)
events_ms, wall_ms = zip(*(group(left, right, out) for _ in range(GROUPS)))
print(f"stopwatch events_ms {summary(events_ms)} wall_ms {summary(wall_ms)}")
