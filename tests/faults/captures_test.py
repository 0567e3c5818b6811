#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A window that ends while a capture goes on ends without waiting for what was submitted before:
memory must not leave under it, also when the capture has ended.

usage: captures_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase
from swap_daemon import ALL, ScriptedDaemon

STAYS = 8  # HoldsFlag


class Captures(ScriptedDaemon, FaultCase):
    scale = 16
    time = 0.05

    def test_what_was_queued_before_one_keeps_its_memory(self):
        tenant = self.ready_tenant("queued")
        tenant.say()
        tenant.wait_for_line("capturing")
        self.daemon.close()
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

    def test_nothing_has_to_leave(self):
        tenant = self.ready_tenant("queued")
        tenant.say()
        tenant.wait_for_line("capturing")
        self.daemon.close()
        self.daemon.open()
        tenant.say()
        tenant.wait_for_line("captured")
        self.daemon.allow(ALL)
        tenant.say()
        tenant.check_ok()


if __name__ == "__main__":
    unittest.main()
