#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch that loses its context by an assertion on the GPU and lives on, beside another one: what
it is told, what the daemon shows of it, what the other gets, and what is free when it has ended.

exit status: 0 all of it is as it should be, 1 something is not, 2 wrong usage

example:
  faulted.py --build build
"""

import os
import sys
import time

import limits
import sharing

GIB_IN_MIB = 1 << 10
PATIENCE_S = 10


def state_of(daemon, process):
    return limits.tenant_of(daemon, process.process.pid)["gpus"][0]["state"]


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)


def measure(options, daemon, table):
    names = {"LD_PRELOAD": str(options.library.resolve()), "NVSHARE_FOLDER": str(daemon.folder)}
    environment = sharing.bare_environment() | names

    def asks(process, gib, what, wanted):
        answer = process.say(f"take {gib * GIB_IN_MIB}")
        table.judge(what, answer[:60], wanted, answer.startswith(wanted))

    bare = limits.Told(options.python, sharing.bare_environment())
    alone = bare.say("fault")
    bare.kill()
    lost = limits.Told(options.python, environment)
    other = limits.Told(options.python, environment)
    try:
        _, total = lost.sizes()
        most = total // limits.GIB * 6 // 10
        asks(lost, most, f"{most} GiB for one", "took")
        told = lost.say("fault")
        table.judge("what it is told of its fault", told[:90], "as bare", told == alone)
        asks(other, most // 4, f"{most // 4} GiB for another", "took")
        wait_for(lambda: state_of(daemon, lost) == "faulted")
        state = state_of(daemon, lost)
        table.judge("it is shown as", state, "faulted", state == "faulted")
        asks(other, most, f"{most} GiB more for the other", "refused")
        asks(other, 1, "1 GiB instead", "took")
        answer = other.say("check")
        table.judge("its data", answer, "right", answer == "right")
        lost.kill()
        wait_for(lambda: len(daemon.ask("status")["tenants"]) == 1)
        asks(other, most, f"{most} GiB once the first one has ended", "took")
    finally:
        for one in (lost, other):
            one.kill()


if __name__ == "__main__":
    os.environ.pop("LD_PRELOAD", None)
    sys.exit(limits.run(sys.argv[1:], __doc__, measure))
