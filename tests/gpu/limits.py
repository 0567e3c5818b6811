#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch under a limit on its tenant's memory: what it sees, what it is refused and goes on after,
two processes that share a limit, and limits that are raised and lowered while they run.

exit status: 0 all of it is as it should be, 1 something is not, 2 wrong usage

example:
  limits.py --build build
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import scheduler
import sharing
import swap

MIB = 1 << 20
GIB = 1 << 30
PROGRAM = pathlib.Path(__file__).with_name("programs") / "limited.py"
RUN = "6c696d697473"  # both processes are of one tenant


class Told:
    """A process that does as it is told, line by line: limited.py, or one like it."""

    def __init__(self, python, environment, program=PROGRAM):
        self.name = program.name
        pipe = subprocess.PIPE
        command = [python, str(program)]
        self.process = subprocess.Popen(
            command, env=environment, stdin=pipe, stdout=pipe, text=True
        )
        self.expect("ready")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise ValueError(f"{self.name} ended with {self.process.wait()}")
        return line.strip()

    def expect(self, word):
        answer = self.answer()
        if answer != word:
            raise ValueError(f"{self.name} says {answer!r}, not {word!r}")

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def sizes(self):
        free, total = map(int, self.say("sizes").split()[1:])
        return free, total

    def kill(self):
        self.process.kill()
        self.process.wait()


def tenant_of(daemon, pid):
    for tenant in daemon.ask("status")["tenants"]:
        if any(client["pid"] == pid for client in tenant["clients"]):
            return tenant
    raise ValueError(f"process {pid} is no tenant of the daemon")


def gib(size):
    return f"{size / GIB:.3f} GiB"


def measure(options, daemon, table):
    names = {"LD_PRELOAD": str(options.library.resolve()), "NVSHARE_FOLDER": str(daemon.folder)}
    names |= {"NVSHARE_RUN": RUN, "NVSHARE_GPU_MEMORY_LIMIT": "1GiB"}
    environment = sharing.bare_environment() | names

    def judge(what, figure, target, good):
        table.judge(what, str(figure), target, good)

    def takes(process, mib, what, wanted):
        answer = process.say(f"take {mib}")
        judge(what, answer[:60], wanted, answer.startswith(wanted))

    def is_right(process, what):
        answer = process.say("check")
        judge(what, answer, "right", answer == "right")

    first = Told(options.python, environment)
    second = None
    try:
        free, total = first.sizes()
        judge("size of the GPU under a limit of 1 GiB", gib(total), "1 GiB", total == GIB)
        takes(first, 600, "600 MiB", "took")
        takes(first, 600, "600 MiB more", "refused")
        takes(first, 300, "300 MiB instead", "took")
        is_right(first, "its data")
        second = Told(options.python, environment)
        takes(second, 200, "another process of the tenant: 200 MiB", "refused")
        takes(second, 100, "100 MiB", "took")
        free, _ = second.sizes()
        judge("free", gib(free), "at most 24 MiB", free <= 24 * MIB)
        identity = tenant_of(daemon, second.process.pid)["id"]
        daemon.ask("limit", tenant=identity, memory="2GiB")
        takes(second, 900, "after the limit was raised to 2 GiB: 900 MiB", "took")
        daemon.ask("limit", tenant=identity, memory="1GiB")
        free, total = first.sizes()
        judge("lowered to 1 GiB, below what is used: free", gib(free), "0", free == 0)
        judge("and the size", gib(total), "1 GiB", total == GIB)
        takes(first, 10, "10 MiB", "refused")
        is_right(first, "data of the first")
        is_right(second, "data of the second")
        second.kill()
        deadline = time.monotonic() + 5
        while len(tenant_of(daemon, first.process.pid)["clients"]) > 1:
            if time.monotonic() > deadline:
                raise ValueError("the daemon does not notice that a process is gone")
            time.sleep(0.01)
        takes(first, 100, "once the second was killed: 100 MiB", "took")
        is_right(first, "its data")
    finally:
        for one in (first, second):
            if one is not None:
                one.kill()


def parse(arguments, about):
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, formatter_class=form)
    add = parser.add_argument
    add("--build", type=pathlib.Path, default="build", help="folder of bin/ and lib/ (build)")
    add("--python", default=sys.executable, help="the Python that has PyTorch")
    options = parser.parse_args(arguments)
    sharing.find_build(parser, options, [PROGRAM])
    return options


def run(arguments, about, measured):
    """The whole script: a daemon of its own, a table, and the exit status."""
    options = parse(arguments, about)
    table = swap.LiveTable()
    with tempfile.TemporaryDirectory(prefix="nvshare-gpu-") as folder:
        with scheduler.Scheduler(options.scheduler, folder, None) as daemon:
            measured(options, daemon, table)
    return 0 if table.judged and table.met() else 1


if __name__ == "__main__":
    os.environ.pop("LD_PRELOAD", None)
    sys.exit(run(sys.argv[1:], __doc__, measure))
