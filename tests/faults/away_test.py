#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program is told of its memory, and may do with it, while that is in host memory.

usage: away_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase
from swap_daemon import ScriptedDaemon

MIB = 1 << 20
TOTAL = 900 * MIB
LARGE = 100 * MIB + 5
# With the rest of its last page, of 2 MiB on a card of full size, and an arena.
TAKEN = 100 * MIB + 2 * MIB // 16 + 2 * MIB


class Away(ScriptedDaemon, FaultCase):
    scale = 16
    time = 0.05
    visible = TOTAL

    def test_questions_and_graphs(self):
        tenant = self.ready_tenant("away")
        self.check_sizes(tenant, 1)
        self.daemon.close()
        self.assertGreaterEqual(self.daemon.swap_out().away, LARGE)
        tenant.say()
        tenant.wait_for_line("asked")
        self.check_sizes(tenant, 2)
        # A call that is captured waits for the memory, and not for a window.
        tenant.say()
        self.daemon.expect("Want")
        self.daemon.swap_in()
        tenant.wait_for_line("captured")
        self.assertEqual(self.daemon.swap_out().resident, 0)
        self.daemon.swap_in()
        # Nothing leaves while a capture goes on.
        tenant.say()
        tenant.wait_for_line("capturing")
        self.daemon.allow(0)
        self.daemon.expect("Holds")
        tenant.say()
        tenant.wait_for_line("captured", 2)
        self.daemon.wait_for_holds(lambda holds: holds.resident == 0)
        # Nodes of graphs name memory, and wait for their window.
        tenant.say()
        self.daemon.swap_in()
        self.daemon.open()
        tenant.wait_for_line("added")
        tenant.check_ok()

    def check_sizes(self, tenant, number):
        words = tenant.wait_for_line("sizes", number).split()
        self.assertEqual([int(word) for word in words[1:]], [TOTAL - TAKEN, TOTAL, TOTAL])


if __name__ == "__main__":
    unittest.main()
