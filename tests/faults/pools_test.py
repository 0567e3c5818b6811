#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that is allocated in the order of streams moves like any other, and comes back when it was
freed.

usage: pools_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase
from swap_daemon import ALL, ScriptedDaemon

MIB = 1 << 20
BOUND_NS = 2_000_000
LARGE = 66 * MIB
# Less than two and three of them.
TOTAL = 300 * MIB


class Pools(ScriptedDaemon, FaultCase):
    scale = 16
    time = 0.05
    visible = TOTAL

    def begin(self, program):
        tenant = self.ready_tenant(program)
        self.daemon.wait_for_holds(lambda holds: holds.resident >= LARGE)
        self.daemon.close()
        return tenant

    def test_it_moves_and_is_given_back(self):
        tenant = self.begin("pools")
        held = self.daemon.swap_out()
        self.assertGreaterEqual(held.away, LARGE)
        self.assertGreaterEqual(held.copied_out, LARGE)
        self.assertLess(held.fixed, 4 * MIB)
        self.assertEqual(self.daemon.swap_in().away, 0)
        self.daemon.open()
        tenant.say()
        tenant.wait_for_line("done")
        self.daemon.close()
        is_empty = lambda holds: holds.resident + holds.away == 0
        if not is_empty(self.daemon.holds):
            self.daemon.wait_for_holds(is_empty)
        self.daemon.open()
        tenant.say()
        tenant.check_ok()

    def test_what_nobody_uses_is_not_copied(self):
        tenant = self.begin("kept")
        held = self.daemon.swap_out()
        self.assertEqual(held.away, 0)
        self.assertEqual(held.copied_out, 0)
        self.daemon.swap_in()
        self.daemon.open()
        tenant.say()
        tenant.check_ok()

    def test_threads_share_what_they_free(self):
        tenant = self.tenant("pool_threads")
        self.daemon.greet()
        self.daemon.allow(ALL)
        for _ in range(3):
            self.daemon.open(BOUND_NS)
            tenant.wait_for_progress(more=4)
            self.daemon.close()
            self.assertEqual(self.daemon.swap_out().resident, 0)
            self.daemon.swap_in()
        self.daemon.open()
        tenant.finish()


class Tenants(FaultCase):
    scale = 16
    time = 0.05

    def test_two_of_them_beside_each_other(self):
        tenants = [self.tenant("pool_threads") for _ in range(2)]
        for tenant in tenants:
            tenant.wait_for_progress(more=4)
        self.finish(*tenants)


if __name__ == "__main__":
    unittest.main()
