#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tenant whose drain cannot complete runs beside the others, and is one of them again afterwards.

usage: stuck_drain_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase


class StuckDrain(FaultCase):
    def stuck(self):
        tenant = self.tenant("hang", NVSHARE_SIM_HANG_KERNEL="nvs_spin")
        tenant.wait_for_line("hangs")
        return tenant

    def wait_for_loose(self, *wanted):
        """Just these. One that is held up by the machine may be loose for a moment, too."""
        loose = lambda: self.status()["gpus"][0]["loose"]
        self.wait_until(lambda: loose() == list(wanted), f"just {wanted} as those loose:", loose)

    def test_the_other_goes_on_and_finishes(self):
        stuck, other = self.stuck(), self.worker()
        self.wait_for_state(stuck, "loose")
        self.wait_for_loose(self.row_of(stuck)["id"])
        self.check_goes_on(other)
        self.finish(other)
        stuck.say()
        stuck.wait_for_line("released")
        self.finish(stuck)

    def test_it_is_one_of_them_again_when_its_kernel_ends(self):
        stuck, other = self.stuck(), self.worker()
        self.wait_for_state(stuck, "loose")
        stuck.say()
        stuck.wait_for_line("released")
        self.wait_for_loose()
        self.check_goes_on(stuck, other)
        self.wait_for_windows(stuck)
        self.finish(stuck, other)

    def test_the_log_says_so_once(self):
        stuck, other, third = self.stuck(), self.worker(), self.worker()
        stuck_id = self.row_of(stuck)["id"]
        self.wait_for_lines(stuck_id, "a tenant cannot end its work")
        # It is asked again meanwhile, and refuses again.
        self.wait_for_windows(other, 20)
        self.assertEqual(self.lines_of(stuck_id, "a tenant ends its work again"), [])
        stuck.say()
        stuck.wait_for_line("released")
        self.wait_for_lines(stuck_id, "a tenant ends its work again")
        self.wait_for_lines(stuck_id, "a tenant cannot end its work")
        self.finish(stuck, other, third)

    def test_killed_while_it_is_stuck(self):
        stuck, other = self.stuck(), self.worker()
        self.wait_for_state(stuck, "loose")
        stuck.kill()
        self.wait_until_forgotten(stuck)
        self.wait_for_loose()
        self.check_goes_on(other)
        self.finish(other)


if __name__ == "__main__":
    unittest.main()
