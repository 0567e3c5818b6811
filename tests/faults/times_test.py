#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a program measures with events is its own time: it does not see that it waited for its turn.

usage: times_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import time
import unittest

from fake_daemon import FakeDaemon
from fault_case import FaultCase

# Longer than whatever the program itself may take to get on.
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
        self.record_start(tenant)
        tenant.say()
        first_held = self.hold()  # for its first window
        self.daemon.open()
        first_took = self.took_ms(tenant)
        self.record_start(tenant, 2)
        self.daemon.close()
        tenant.say()
        self.daemon.expect("Want")
        held = self.hold()
        self.daemon.open()
        took = self.took_ms(tenant, 2)
        tenant.check_ok()
        self.assertLess(first_took, first_held)
        self.assertLess(took, held)
        self.assertGreaterEqual(min(first_took, took), 1, "the kernel itself")

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
