#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that tries to end a context which goes on: what runs there is waited for all the same.

usage: endings_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase
from swap_daemon import STAYS, ScriptedDaemon


class Endings(ScriptedDaemon, FaultCase):
    scale = 16
    time = 0.05

    def begin(self, *words):
        tenant = self.ready_tenant("refused", *words)
        tenant.say()
        return tenant

    def test_a_window_does_not_end_before_its_work(self):
        tenant = self.begin()
        tenant.wait_for_line("refused")
        for _ in range(3):
            self.daemon.send("Close", ordinal=0, grant=self.daemon.grant)
            self.assertEqual(self.daemon.expect("Drained", "Refused").name, "Refused")
        tenant.say()
        tenant.check_ok()

    def test_memory_does_not_leave_under_work_from_before_a_capture(self):
        tenant = self.begin("captures")
        tenant.wait_for_line("capturing")
        self.daemon.close()
        self.daemon.allow(0)
        tenant.say()
        tenant.wait_for_line("refused")
        holds = self.daemon.wait_for_holds(lambda holds: holds.flags & STAYS or holds.away)
        self.assertEqual(holds.away, 0, "memory that a kernel is about to write")
        tenant.say()
        self.daemon.wait_for_holds(lambda holds: holds.resident == 0)
        self.daemon.swap_in()
        self.daemon.open()
        tenant.check_ok()


if __name__ == "__main__":
    unittest.main()
