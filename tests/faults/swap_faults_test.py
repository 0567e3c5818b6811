#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory comes and goes while the driver fails, host memory ends, and programs allocate, free and
end: nobody's data or progress is harmed, and no program sees an error but out of memory.

usage: swap_faults_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import time
import unittest

from exchange import LIBRARY, ExchangeCase, is_stopped
from fault_case import SIGCONT, FaultCase
from swap_daemon import ALL, ScriptedDaemon
from tenant import PATIENCE_S

MIB = 1 << 20
OUT_OF_MEMORY, UNSUPPORTED, UNKNOWN = 2, 801, 999
# Calls of the library's threads that fail: after so many good ones, so many times, with what.
FAILURES = (
    ("cuMemCreate", 0, 5, OUT_OF_MEMORY),
    ("cuMemCreate", 2, 3, UNKNOWN),
    ("cuMemMap", 0, 3, UNKNOWN),
    ("cuMemSetAccess", 1, 3, UNKNOWN),
    ("cuMemHostRegister_v2", 0, 1000, UNSUPPORTED),
    ("cuMemcpyDtoHAsync_v2", 0, 4, UNKNOWN),
    ("cuMemcpyHtoDAsync_v2", 1, 3, UNKNOWN),
    ("cuMemsetD8Async", 0, 4, UNKNOWN),
    ("cuLaunchKernel", 1, 3, UNKNOWN),
    ("cuEventRecord", 1, 3, UNKNOWN),
    ("cuStreamCreate", 1, 2, OUT_OF_MEMORY),
    ("cuModuleLoadData", 0, 1, OUT_OF_MEMORY),
)
GROUP = 4


class Driver(ExchangeCase):
    def test_the_driver_fails(self):
        innocent = self.innocent()
        for at in range(0, len(FAILURES), GROUP):
            tenants = [
                self.victim(NVSHARE_SIM_FAIL=f"{call}@{LIBRARY}:{after}:{times}:{result}")
                for call, after, times, result in FAILURES[at : at + GROUP]
            ]
            for tenant in tenants:
                self.wait_for_exchange(tenant)
            self.check_goes_on(innocent, *tenants)
            self.finish(*tenants)
        self.check_only(innocent)
        self.finish(innocent)


class Programs(ExchangeCase):
    def test_one_thread_allocates_while_another_launches(self):
        innocent = self.innocent()
        churns = [self.tenant("churn") for _ in range(3)]
        for churn in churns:
            self.wait_for_exchange(churn)
        for churn in churns:
            pieces = sum(line.startswith("piece") for line in churn.lines)
            churn.wait_for_line("piece", pieces + 20)
        self.check_goes_on(innocent, *churns)
        self.finish(*churns)
        self.check_only(innocent)
        self.finish(innocent)

    def test_an_end_in_the_middle(self):
        innocent = self.innocent()
        calls = ("cuLaunchKernel", "cuMemcpyDtoHAsync_v2", "cuMemUnmap", "cuMemRelease")
        for way, call in zip(("return", "exit", "destroy", "quick"), calls):
            tenant = self.leaver_in(call, way)
            tenant.say()
            tenant.send(SIGCONT)
            self.assertEqual(tenant.process.wait(PATIENCE_S), 0, tenant)
            self.check_goes_on(innocent)
        self.check_only(innocent)
        self.finish(innocent)

    def leaver_in(self, call, way):
        """One that has all it wants, and stands still in a call that takes it away. It may have to
        give some away before it has all; then that was another call, and the next one is taken."""
        for _ in range(PATIENCE_S):
            tenant = self.tenant("leaver", way, NVSHARE_SIM_FAIL=f"{call}@{LIBRARY}:1:1:stop")
            self.wait_until(lambda: is_stopped(tenant), f"{tenant} in {call}")
            if "ready" in tenant.lines:
                return tenant
            tenant.kill()
        self.fail(f"nobody was ready before it was in {call}")

    def test_who_takes_all_it_sees_runs_beside_three_more(self):
        hog = self.tenant("hog")
        hog.wait_for_progress()
        others = [self.worker() for _ in range(3)]
        self.check_goes_on(hog, *others)
        self.finish(*others)
        self.check_goes_on(hog)
        self.finish(hog)


class NoHostPool(FaultCase):
    scale = 16  # 932 MiB: what differs by less than 64 is no news to clients
    time = 0.05
    window = "5ms"
    daemon_options = ("--turn", "100ms", "--host-memory", "0")

    def test_who_would_have_no_place_is_told_so(self):
        innocent = self.tenant("mixed", 140, 1)
        innocent.wait_for_progress(1)
        # Alone it would fit; as it is, it would wait for memory that nobody can ever give back.
        other = self.tenant("mixed", 190, 1)
        self.assertIn(f"returned {OUT_OF_MEMORY}", other.wait_for_line("failed"))
        self.assertEqual(other.process.wait(PATIENCE_S), 1)
        self.check_goes_on(innocent)
        self.finish(innocent)
        third = self.tenant("mixed", 190, 1)
        self.check_goes_on(third)
        self.finish(third)


class Scripted(ScriptedDaemon, FaultCase):
    """With a daemon that does what the test says."""

    scale = 256
    time = 0.05


class Freed(Scripted):
    rounds = 40  # more than memory could be lost for

    def test_while_it_is_in_host_memory(self):
        tenant = self.ready_tenant("freer", self.rounds)
        for number in range(1, self.rounds + 1):
            self.daemon.close()
            held = self.daemon.swap_out()
            tenant.say()
            tenant.wait_for_line("freed", number)
            less = self.daemon.swap_in()
            self.assertEqual(less.resident, held.away - 6 * MIB, "two large ones are gone")
            self.daemon.open()
            tenant.say()
            tenant.wait_for_line("again", number)
        self.assertEqual(self.daemon.lent, 1, "one segment is enough")
        tenant.check_ok()

    def test_while_it_moves(self):
        """In turns on its way out and in. The driver is one that does not wait for copies when it
        frees something: here they are the mover's, which is in the middle of its work."""
        program = "fault_tenant"  # as its main thread is named
        does_not_wait = f"cuMemAlloc_v2@{program}:0:999:2,cuCtxSynchronize@{program}:0:999:0"
        tenant = self.ready_tenant("freer", self.rounds, NVSHARE_SIM_FAIL=does_not_wait)
        for number in range(1, self.rounds + 1):
            self.daemon.close()
            goes_out = number % 2 == 0
            whole = whole if goes_out else self.daemon.swap_out().away
            self.daemon.allow(0 if goes_out else ALL)
            self.daemon.wait_for_holds(lambda holds: holds.resident not in (0, whole))
            tenant.say()
            tenant.wait_for_line("freed", number)
            left = whole - 6 * MIB
            if goes_out:
                self.daemon.wait_for_holds(lambda holds: (holds.resident, holds.away) == (0, left))
                self.daemon.allow(ALL)
            self.daemon.wait_for_holds(lambda holds: (holds.resident, holds.away) == (left, 0))
            self.daemon.open()
            tenant.say()
            tenant.wait_for_line("again", number)
        self.assertEqual(self.daemon.lent, 1, "one segment is enough")
        tenant.check_ok()


class Failed(Scripted):
    def test_copies_that_fail_leave_no_places_behind(self):
        fail = f"cuMemcpyDtoHAsync_v2@{LIBRARY}:0:60:{UNKNOWN}"  # more than one segment has
        tenant = self.ready_tenant("mixed", 3, 2, NVSHARE_SIM_FAIL=fail)
        self.daemon.close()
        self.daemon.swap_out()
        self.assertEqual(self.daemon.lent, 1, "one segment is enough")
        self.daemon.swap_in()
        self.daemon.open()
        tenant.wait_for_progress()
        tenant.finish()

    def test_what_has_not_changed_is_found_out_after_a_failure_too(self):
        """The card is full when the kernel that hashes is loaded, and not for ever."""
        tenant = self.ready_tenant(
            "freer", 1, NVSHARE_SIM_FAIL=f"cuModuleLoadData@{LIBRARY}:0:1:{OUT_OF_MEMORY}"
        )
        copied = []
        for _ in range(3):
            self.daemon.close()
            copied.append(self.daemon.swap_out().copied_out)
            self.daemon.swap_in()
            self.daemon.open()
        self.assertEqual(copied[2], copied[1], "what left before it was there is copied once more")
        for line in ("freed", "again"):
            tenant.say()
            tenant.wait_for_line(line)
        tenant.check_ok()


class Denied(Scripted):
    host_bytes = 0

    def test_what_has_no_place_stays_and_costs_nothing(self):
        calls = self.folder.parent / "calls"
        tenant = self.ready_tenant("mixed", 3, 2, NVSHARE_SIM_CALLS_FILE=str(calls))
        self.daemon.close()
        before, began = self.hashes(calls), time.monotonic()
        self.daemon.allow(0)
        self.daemon.wait_for_holds(lambda holds: True)
        time.sleep(1)
        made = self.hashes(calls) - before
        self.assertLess(made, 200 * (time.monotonic() - began))  # in a second, with pauses
        self.daemon.swap_in()
        self.daemon.open()
        tenant.wait_for_progress()
        tenant.finish()

    def hashes(self, calls):
        return calls.read_text().count(f"{LIBRARY} cuLaunchKernel\n")


if __name__ == "__main__":
    unittest.main()
