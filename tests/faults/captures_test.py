#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A window that ends while a capture goes on ends without waiting for what was submitted before:
memory must not leave under it, also when the capture has ended. And what a capture names is there.

usage: captures_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import contextlib
import pathlib
import time
import unittest

from exchange import LIBRARY
from fault_case import FaultCase
from swap_daemon import ALL, CHUNK, STAYS, ScriptedDaemon

SLEEPS = "\nvoluntary_ctxt_switches:"  # of a thread, in its status


def sleeps_of_library(tenant):
    """How often threads of the library have gone to sleep in the process so far."""
    total = 0
    for task in pathlib.Path("/proc", str(tenant.pid), "task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = (task / "status").read_text()
            if text.splitlines()[0].split()[1] == LIBRARY:
                total += int(text.partition(SLEEPS)[2].split()[0])
    return total


class Captures(ScriptedDaemon, FaultCase):
    scale = 16
    time = 0.05

    def begin(self):
        """One that captures beside work that does not end, and has lost its window."""
        tenant = self.ready_tenant("queued")
        tenant.say()
        tenant.wait_for_line("capturing")
        self.daemon.close()
        return tenant

    def test_what_was_queued_before_one_keeps_its_memory(self):
        tenant = self.begin()
        self.daemon.allow(0)
        tenant.say()
        tenant.wait_for_line("captured")
        # It says so when it has waited for long enough.
        holds = self.daemon.wait_for_holds(lambda holds: holds.flags & STAYS or not holds.resident)
        self.assertEqual(holds.away, 0, "memory that a kernel is about to write")
        tenant.say()
        self.daemon.wait_for_holds(lambda holds: holds.resident == 0)
        self.daemon.swap_in()
        self.daemon.open()
        tenant.check_ok()

    def test_one_that_goes_on_costs_nothing(self):
        """As one that the program forgot."""
        tenant = self.begin()
        before, began = sleeps_of_library(tenant), time.monotonic()
        time.sleep(1)
        made = sleeps_of_library(tenant) - before
        self.assertLess(made, 100 * (time.monotonic() - began))  # in a second, with pauses
        self.daemon.open()
        tenant.say()
        tenant.wait_for_line("captured")
        tenant.say()
        tenant.check_ok()

    def test_what_could_not_leave_leaves_when_the_work_has_ended(self):
        """And not when it would have been tried again."""
        self.assertTrue(any(self.time_to_leave_s() < 2.5 for _ in range(5)))

    def time_to_leave_s(self):
        """After the end of what was in the way for too long."""
        tenant = self.begin()
        self.daemon.allow(0)
        tenant.say()
        self.daemon.wait_for_holds(lambda holds: holds.flags & STAYS)
        tenant.say()
        began = time.monotonic()
        self.daemon.wait_for_holds(lambda holds: holds.resident == 0)
        took_s = time.monotonic() - began
        self.daemon.swap_in()
        self.daemon.open()
        tenant.check_ok()
        return took_s

    def test_nothing_has_to_leave(self):
        tenant = self.begin()
        self.daemon.open()
        tenant.say()
        tenant.wait_for_line("captured")
        self.daemon.allow(ALL)
        tenant.say()
        tenant.check_ok()

    def test_one_that_waits_for_memory_keeps_none_for_ever(self):
        """Two tenants with half of their memory each would wait for the other half."""
        tenant = self.ready_tenant("captured")
        self.daemon.close()
        self.daemon.swap_out(keep=CHUNK)
        tenant.say()
        tenant.wait_for_line("kernel")  # which names no memory
        self.daemon.allow(0)
        self.daemon.wait_for_holds(lambda holds: holds.resident == 0)
        self.daemon.swap_in()
        tenant.wait_for_line("fill")
        self.daemon.open()
        tenant.check_ok()


if __name__ == "__main__":
    unittest.main()
