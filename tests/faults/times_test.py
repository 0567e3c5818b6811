#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program measures with events is its own time: it does not see that it waited for its turn.

usage: times_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import time
import unittest

from fake_daemon import FakeDaemon
from fault_case import FaultCase

HELD_S = 1


class Times(FaultCase):
    time = 1

    def start_daemon(self):
        self.daemon = FakeDaemon(self.folder)
        self.addCleanup(self.daemon.end)

    def kill_daemon(self):
        pass

    def begin(self, rounds):
        tenant = self.tenant("stopwatch", rounds)
        self.daemon.greet()
        tenant.wait_for_line("ready")
        return tenant

    def record_start(self, tenant, number=1):
        tenant.say()
        tenant.wait_for_line("started", number)

    def took_ms(self, tenant, number=1):
        return float(tenant.wait_for_line("took", number).split()[1])

    def hold(self):
        """How long it was, in ms; a little less, because a float rounds."""
        before = time.monotonic()
        time.sleep(HELD_S)
        return (time.monotonic() - before) * 1000 - 0.01

    def test_waits_are_not_seen(self):
        tenant = self.begin(2)
        began = time.monotonic()
        self.record_start(tenant)
        tenant.say()
        held = self.hold()  # for its first window
        self.daemon.open()
        self.check_took(tenant, 1, began, held)
        began = time.monotonic()
        self.record_start(tenant, 2)
        self.daemon.close()
        tenant.say()
        self.daemon.expect("Want")
        held = self.hold()
        self.daemon.open()
        self.check_took(tenant, 2, began, held)
        tenant.check_ok()

    def check_took(self, tenant, number, began, held):
        """All but the wait, whatever else may have held the program up."""
        took = self.took_ms(tenant, number)
        self.assertLess(took + held, (time.monotonic() - began) * 1000)
        self.assertGreaterEqual(took, 1, "the kernel itself")

    def test_the_programs_own_pauses_are(self):
        tenant = self.begin(1)
        self.daemon.open()
        self.record_start(tenant)
        self.daemon.close()
        held = self.hold()  # it wants nothing
        tenant.say()
        self.daemon.expect("Want")
        self.daemon.open()
        self.assertGreaterEqual(self.took_ms(tenant), held)
        tenant.check_ok()


if __name__ == "__main__":
    unittest.main()
