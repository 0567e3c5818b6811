#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenants that lose their context to an illegal address while their process lives: the program sees
what it would see alone, the others get the GPU and what is left of its memory.

usage: poisoned_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from exchange import LIBRARY, ExchangeCase
from fault_case import FaultCase
from swap_daemon import ALL, ScriptedDaemon
from tenant import PATIENCE_S

MIB = 1 << 20
OUT_OF_MEMORY, ILLEGAL_ADDRESS, LAUNCH_FAILED = 2, 700, 719
FAULTED = 4  # HoldsFlag
SAID = "a process has lost its contexts"
BREAKS = {"NVSHARE_SIM_FAULT_KERNEL": "nvs_spin"}


class Shared(ExchangeCase):
    """58 MiB for all of them."""

    def poisoned(self, mib):
        tenant = self.tenant("poisoned", mib, **BREAKS)
        tenant.wait_for_line("ready")
        return tenant

    def break_context(self, tenant):
        """As the others find out when they want the GPU."""
        tenant.say()
        tenant.wait_for_line("poisoned")
        self.wait_for_state(tenant, "faulted")

    def took(self, tenant):
        tenant.say("allocate")
        return int(tenant.wait_for_line("took").split()[1])

    def test_it_is_shown_and_the_others_go_on(self):
        broken = self.poisoned(8)
        other = self.worker()
        self.break_context(broken)
        windows = self.on_gpu(broken)["windows"]
        self.check_goes_on(other, broken)
        on = self.on_gpu(broken)
        self.assertEqual(on["windows"], windows, "it needs none")
        self.assertEqual((on["resident_bytes"], on["swapped_bytes"]), (0, 0))
        self.assertGreaterEqual(on["fixed_bytes"], 8 * MIB)
        self.assertEqual(self.took(broken), ILLEGAL_ADDRESS)
        self.assertIn("faulted", self.nvsharectl("status"))
        self.assertEqual(self.log_text().count(SAID), 1)
        self.finish(broken, other)

    def test_the_others_take_turns_in_what_is_left(self):
        broken = self.poisoned(24)
        others = [self.tenant("mixed", 6, 1) for _ in range(2)]
        self.wait_for_exchange(broken)
        self.break_context(broken)
        for other in others:
            other.wait_for_line("ready")
        self.check_goes_on(*others, broken)
        self.finish(broken)
        self.check_goes_on(*others)
        self.finish(*others)

    def test_who_has_too_much_waits_for_its_end(self):
        broken = self.poisoned(30)
        other = self.tenant("mixed", 8, 2)
        other.wait_for_progress(1)
        self.wait_for_exchange(broken)
        self.break_context(broken)
        self.wait_for_state(other, "swapped")
        self.check_goes_on(broken)
        self.finish(broken)
        self.check_goes_on(other)
        self.check_only(other)
        self.finish(other)

    def test_who_asks_for_too_much_is_refused(self):
        broken = self.poisoned(30)
        other = self.worker()
        self.break_context(broken)
        large = self.tenant("mixed", 9, 2)
        self.assertIn(f"returned {OUT_OF_MEMORY}", large.wait_for_line("failed"))
        self.assertEqual(large.process.wait(PATIENCE_S), 1)
        self.check_goes_on(other)
        self.finish(broken)
        large = self.tenant("mixed", 9, 2)
        self.check_goes_on(large, other)
        self.finish(large, other)

    def test_the_next_daemon_hears_of_it(self):
        broken = self.poisoned(30)
        other = self.worker()
        self.break_context(broken)
        self.kill_daemon()
        self.check_goes_on(broken, other)
        self.start_daemon()
        self.wait_for_state(broken, "faulted")
        self.assertGreaterEqual(self.on_gpu(broken)["fixed_bytes"], 30 * MIB)
        self.check_goes_on(other)
        self.finish(broken, other)

    def test_it_ends_with_the_context(self):
        broken = self.poisoned(30)
        other = self.worker()
        self.break_context(broken)
        broken.say("destroy")
        broken.wait_for_line("destroyed")
        self.wait_for_state(broken, "idle")
        self.wait_until(lambda: self.on_gpu(broken)["fixed_bytes"] == 0, "all of it free")
        large = self.tenant("mixed", 9, 2)
        self.check_goes_on(large, other)
        self.finish(broken, large, other)


class Scripted(ScriptedDaemon, FaultCase):
    """With a daemon that does what the test says."""

    scale = 256
    time = 0.05

    def test_who_waits_for_room_gets_the_drivers_error(self):
        calls = self.folder.parent / "calls"
        tenant = self.tenant("poisoned", 8, 20, NVSHARE_SIM_CALLS_FILE=str(calls), **BREAKS)
        self.daemon.greet()
        self.daemon.allow(16 * MIB)
        self.daemon.open()
        tenant.wait_for_line("ready")
        self.daemon.wait_for_holds(lambda holds: holds.asked > 0)
        self.daemon.allow(16 * MIB)  # so little that it gets ready to move
        waits = self.daemon.wait_for_holds(lambda holds: holds.asked > 0)
        made = lambda call: f"{LIBRARY} {call}" in calls.read_text().splitlines()
        self.wait_until(lambda: made("cuMemHostAlloc"), "the last of what it prepares")
        tenant.say()
        tenant.wait_for_line("poisoned")
        self.daemon.close()
        holds = self.daemon.holds
        self.assertTrue(holds.flags & FAULTED, "nobody is to plan with what is there")
        self.assertEqual(holds.fixed, waits.resident)
        self.assertEqual((holds.resident, holds.away, holds.asked), (0, 0, 0))
        self.assertEqual(tenant.wait_for_line("took"), f"took {ILLEGAL_ADDRESS}")
        for _ in range(20):
            self.daemon.allow(0)
            self.daemon.wait_for_holds(lambda holds: True)
        self.assertFalse(made("cuMemsetD8Async"), "the first of what a move takes")
        tenant.finish()

    COPIES = ("cuMemcpyDtoHAsync_v2", "cuStreamSynchronize")

    def test_what_moves_memory_finds_out_too(self):
        """The first copies say so, when all was drained well."""
        fails = [f"{call}@{LIBRARY}:0:99:{LAUNCH_FAILED}" for call in self.COPIES]
        tenant = self.ready_tenant("mixed", 3, 2, NVSHARE_SIM_FAIL=",".join(fails))
        tenant.wait_for_progress(1)
        self.daemon.close()
        before = self.daemon.swap_in()  # nothing of it was away
        self.assertFalse(before.flags & FAULTED)
        self.daemon.allow(0)
        holds = self.daemon.wait_for_holds(lambda holds: holds.flags & FAULTED)
        self.assertEqual(holds.fixed, before.fixed + before.resident)
        self.assertEqual((holds.resident, holds.away), (0, 0))
        self.daemon.allow(ALL)
        self.daemon.wait_for_holds(lambda holds: holds.flags & FAULTED)
        tenant.wait_for_progress()  # the driver still works for the program, which is not held up
        tenant.finish()


if __name__ == "__main__":
    unittest.main()
