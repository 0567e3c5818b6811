#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon that is killed and comes back: tenants run on meanwhile, and are what they were before.

usage: restarts_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import SIGCONT, SIGSTOP, FaultCase
from tenant import PATIENCE_S


class Restarts(FaultCase):
    def wait_until_adopted(self, *tenants):
        for tenant in tenants:
            self.wait_until(lambda one=tenant: self.on_gpu(one), f"{tenant.pid} in status")

    def used_above(self, tenant, seconds):
        """What it has been billed, once that is more."""
        used_s = self.on_gpu(tenant)["used_s"]
        return used_s if used_s > seconds else None

    def test_tenants_run_on_and_take_windows_again(self):
        first, second = self.worker(), self.worker()
        # So much that it does not matter if its word of a window came late once, or if it stood
        # still in one and was billed for more than it saw.
        used_s = self.wait_until(lambda: self.used_above(first, 3), "three seconds of windows")
        self.kill_daemon()
        self.check_goes_on(first, second)
        self.start_daemon()
        self.wait_until_adopted(first, second)
        self.assertEqual(len(self.status()["tenants"]), 2)
        # As its own clock has it, which counts from a little later to a little earlier.
        self.assertGreater(self.on_gpu(first)["used_s"], used_s / 2)
        self.wait_for_windows(first)
        self.wait_for_windows(second)
        self.check_goes_on(first, second)
        self.finish(first, second)

    def test_tenants_keep_their_numbers(self):
        """In whatever order they come back: what is said of one hits no other."""
        tenants = [self.worker() for _ in range(3)]
        ids = [self.row_of(tenant)["id"] for tenant in tenants]
        # The oldest comes back last. One after the other is let go on when those before are there.
        for tenant in tenants[:-1]:
            tenant.send(SIGSTOP)
        self.kill_daemon()
        self.start_daemon()
        for tenant in reversed(tenants):
            tenant.send(SIGCONT)
            self.wait_until_adopted(tenant)
        self.assertEqual([self.row_of(tenant)["id"] for tenant in tenants], ids)
        self.ask(command="pause", tenant=ids[0])
        self.wait_for_state(tenants[0], "paused")
        self.check_goes_on(*tenants[1:])
        self.ask(command="resume", tenant=ids[0])
        self.finish(*tenants)

    def test_a_number_is_nobody_elses_later(self):
        first, leaver = self.worker(), self.worker()
        ids = [self.row_of(tenant)["id"] for tenant in (first, leaver)]
        self.finish(leaver)
        self.kill_daemon()
        self.start_daemon()
        late = self.worker()
        self.wait_until_adopted(first, late)
        self.assertEqual(self.row_of(first)["id"], ids[0])
        self.assertNotIn(self.row_of(late)["id"], ids)
        self.finish(first, late)

    def test_what_was_set_stays_set(self):
        first, second = self.worker(), self.worker()
        self.ask(command="set", gpu="all", window_ms=7)
        self.ask(command="priority", tenant=self.row_of(first)["id"], priority="high")
        self.ask(command="pause", tenant=self.row_of(second)["id"])
        self.wait_for_state(second, "paused")
        self.kill_daemon()
        rounds = second.progress()
        self.check_goes_on(first)
        self.start_daemon()
        self.wait_until_adopted(first, second)
        self.check_goes_on(first)
        self.wait_for_state(second, "paused")
        # What it had queued before the pause may have ended since.
        self.assertLessEqual(second.progress(), rounds + 1)
        self.assertEqual(self.status()["gpus"][0]["window_ms"], 7)
        self.assertEqual(self.row_of(first)["priority"], "high")
        self.ask(command="resume", tenant=self.row_of(second)["id"])
        self.check_goes_on(first, second)
        self.wait_for_windows(second)
        self.finish(first, second)

    def test_the_mode_stays(self):
        first, second = self.worker(), self.worker()
        self.ask(command="set", gpu="all", mode="serial", turn_s=0.2)
        self.kill_daemon()
        self.start_daemon()
        self.wait_until_adopted(first, second)
        gpu = self.status()["gpus"][0]
        self.assertEqual((gpu["mode"], gpu["turn_s"]), ("serial", 0.2))
        self.wait_for_windows(first, 2)
        self.wait_for_windows(second, 2)
        self.finish(first, second)

    def test_again_and_again(self):
        first, second = self.worker(), self.worker()
        for _ in range(4):
            self.kill_daemon()
            self.start_daemon()
            self.check_goes_on(first, second)
        self.wait_until_adopted(first, second)
        self.wait_for_windows(first)
        self.wait_for_windows(second)
        self.finish(first, second)

    def test_tenants_that_come_and_go_meanwhile(self):
        first, leaver = self.worker(), self.worker()
        self.kill_daemon()
        leaver.finish()
        late = self.worker()
        self.start_daemon()
        self.wait_until_adopted(first, late)
        self.assertIsNone(self.row_of(leaver))
        self.wait_for_windows(late)
        self.finish(first, late)

    def test_a_clean_stop(self):
        first, second = self.worker(), self.worker()
        self.daemon.terminate()
        self.assertEqual(self.daemon.wait(PATIENCE_S), 0)
        self.check_goes_on(first, second)
        self.start_daemon()
        self.wait_until_adopted(first, second)
        self.wait_for_windows(first)
        self.finish(first, second)

    def test_a_daemon_that_stands_still(self):
        first, second = self.worker(), self.worker()
        self.daemon.send_signal(SIGSTOP)
        # Whoever waits for its word finds out that there is none, and runs without it.
        self.check_goes_on(first, second)
        self.daemon.send_signal(SIGCONT)
        self.wait_until_adopted(first, second)
        self.wait_for_windows(first)
        self.wait_for_windows(second)
        self.check_goes_on(first, second)
        self.assertEqual(len(self.status()["tenants"]), 2)
        self.finish(first, second)


if __name__ == "__main__":
    unittest.main()
