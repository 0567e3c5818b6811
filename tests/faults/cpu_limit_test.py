#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tenant under a CPU limit of a tenth of a core: slow, but neither lost nor in others' way.

usage: cpu_limit_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import os
import pathlib
import unittest

from fault_case import FaultCase

PERIOD_US, QUOTA_US = 100_000, 10_000


class CpuGroup:
    """A control group of our own, of whichever version this machine has; an OSError if of none."""

    def __init__(self, name):
        self.folder, self.limit = self._made(name)

    @staticmethod
    def _made(name):
        root = pathlib.Path("/sys/fs/cgroup")
        ways = (
            (root, "cpu.max", f"{QUOTA_US} {PERIOD_US}"),
            (root / "unified", "cpu.max", f"{QUOTA_US} {PERIOD_US}"),
            (root / "cpu", "cpu.cfs_quota_us", str(QUOTA_US)),
            (root / "cpu,cpuacct", "cpu.cfs_quota_us", str(QUOTA_US)),
        )
        for parent, file, limit in ways:
            if not (parent / "cgroup.procs").exists():
                continue
            folder = parent / name
            folder.mkdir()
            if (folder / file).exists():
                return folder, (file, limit)
            folder.rmdir()
        raise FileNotFoundError("no control group with a CPU limit")

    def add(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))

    def set_limit(self):
        (self.folder / self.limit[0]).write_text(self.limit[1])

    def lift_limit(self):
        lifted = "max" if self.limit[0] == "cpu.max" else "-1"
        (self.folder / self.limit[0]).write_text(lifted)

    def throttled(self):
        """In how many periods it had used its share up."""
        stat = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return int(stat["nr_throttled"])

    def remove(self):
        self.folder.rmdir()


class CpuLimit(FaultCase):
    def setUp(self):
        try:
            self.group = CpuGroup(f"nvshare-faults-{os.getpid()}")
        except OSError as error:
            self.skipTest(f"this machine lets us make no control group: {error}")
        self.addCleanup(self.group.remove)
        super().setUp()

    def test_others_go_on_and_so_does_it(self):
        slow, other = self.worker(), self.worker()
        self.group.add(slow.pid)
        self.group.set_limit()
        while self.group.throttled() < 20:
            self.check_goes_on(slow, other)
        # It may have been unresponsive for moments, but has windows again and again.
        self.wait_for_windows(slow)
        self.wait_for_windows(other)
        self.wait_for_state(slow, "running", "waiting", "draining", "idle")
        self.group.lift_limit()
        self.check_goes_on(slow, other)
        self.finish(slow, other)


if __name__ == "__main__":
    unittest.main()
