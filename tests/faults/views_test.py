#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that a program creates and maps itself moves like any other: with its bytes, its views and
who may use them; and stays where it is once it is shared.

usage: views_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from exchange import LIBRARY, ExchangeCase
from fault_case import FaultCase
from swap_daemon import ScriptedDaemon

MIB = 1 << 20
OUT_OF_MEMORY, UNKNOWN = 2, 999
TOTAL = 900 * MIB
POOL, SEGMENTS, TWICE, BLIND = 66 * MIB, (2 + 20 + 2 + 20) * MIB, 4 * MIB, 2 * MIB
ALL_OF_IT = POOL + SEGMENTS + TWICE + BLIND


class Views(ScriptedDaemon, FaultCase):
    scale = 16
    time = 0.05
    visible = TOTAL

    def test_they_move_and_can_be_shared(self):
        tenant = self.ready_tenant("views")
        self.check_taken(tenant, 1, ALL_OF_IT)
        self.daemon.close()
        held = self.daemon.swap_out()
        self.assertEqual((held.resident, held.away, held.fixed), (0, ALL_OF_IT, 0))
        # Questions, refusals and a free, all with the pages away.
        tenant.say()
        tenant.wait_for_line("asked")
        self.check_taken(tenant, 2, ALL_OF_IT)
        # What is mapped now is waited for.
        tenant.say()
        self.daemon.expect("Want")
        self.daemon.swap_in()
        self.daemon.open()
        tenant.wait_for_line("renewed")
        self.daemon.close()
        left = ALL_OF_IT - 22 * MIB
        self.assertEqual(self.daemon.swap_out().away, left)
        self.daemon.swap_in()
        self.daemon.open()
        # What was shared stays; what was opened of it is there already.
        tenant.say()
        tenant.wait_for_line("exported")
        self.check_taken(tenant, 3, left)
        self.daemon.close()
        held = self.daemon.swap_out()
        self.assertEqual((held.away, held.fixed), (left - POOL - TWICE, POOL + TWICE))
        self.daemon.swap_in()
        self.daemon.open()
        tenant.say()
        tenant.wait_for_line("freed")
        self.daemon.close()
        held = self.daemon.swap_out()
        self.assertEqual((held.resident, held.away, held.fixed), (0, 0, 0))
        tenant.say()
        tenant.check_ok()

    def test_no_context_takes_them_along(self):
        tenant = self.ready_tenant("orphan")
        self.daemon.close()
        self.assertEqual(self.daemon.swap_out().away, POOL)
        self.daemon.swap_in()
        self.daemon.open()
        tenant.say()
        tenant.wait_for_line("alone")
        self.daemon.close()
        # It cannot be copied until there is a context again.
        self.daemon.allow(0)
        tenant.say()
        self.daemon.wait_for_holds(lambda holds: holds.away == POOL)
        self.daemon.swap_in()
        self.daemon.open()
        tenant.check_ok()

    def check_taken(self, tenant, number, taken):
        self.assertEqual(tenant.wait_for_line("taken", number).split()[1], str(taken))


class Tenants(ExchangeCase):
    """Some of which the driver fails in the middle of a view."""

    FAILURES = (
        "",
        f"cuMemMap@{LIBRARY}:1:3:{UNKNOWN}",
        f"cuMemSetAccess@{LIBRARY}:1:3:{UNKNOWN}",
        f"cuMemCreate@{LIBRARY}:1:3:{OUT_OF_MEMORY}",
    )

    def test_they_take_turns(self):
        tenants = [self.tenant("created", 8, 3, NVSHARE_SIM_FAIL=fail) for fail in self.FAILURES]
        for tenant in tenants:
            self.wait_for_exchange(tenant)
        self.check_goes_on(*tenants)
        self.finish(*tenants)


if __name__ == "__main__":
    unittest.main()
