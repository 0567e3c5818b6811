#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon that goes, or that hangs, while a tenant's memory is away or about to leave: the tenant
goes on as soon as all of it is there, however that came about.

usage: alone_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from exchange import LIBRARY
from fault_case import FaultCase, open_files
from swap_daemon import ALL, SHARED, ScriptedDaemon
from told_case import MIB, NVML

UNKNOWN = 999


class Alone(ScriptedDaemon, FaultCase):
    scale = 16
    time = 0.05

    def end_daemon(self, tenant):
        """For good; and the tenant has noticed."""
        self.daemon.end()
        (self.folder / "tenant" / "scheduler.sock").unlink()
        is_noticed = lambda: not any(name.startswith("socket:") for name in open_files(tenant.pid))
        self.wait_until(is_noticed, f"{tenant} without a connection")


class OneGpu(Alone):
    def tell(self, tenant, word):
        tenant.say(word)
        tenant.wait_for_line(f"done {word}")

    def test_what_was_about_to_leave_stays(self):
        tenant = self.ready_tenant("alone")
        self.daemon.close()
        tenant.say("hang")
        tenant.wait_for_line("armed")
        # The kernel that hashes it, so that it is on its way out for as long as we like.
        self.daemon.allow(0)
        tenant.wait_for_line("done hang")
        self.end_daemon(tenant)
        self.tell(tenant, "release")
        tenant.finish()

    def test_what_is_away_is_freed(self):
        """It was to come back, but there is no memory for it."""
        calls = self.folder.parent / "calls"
        tenant = self.ready_tenant(
            "alone",
            NVSHARE_SIM_FAIL=f"cuMemCreate@{LIBRARY}:0:1000000:{UNKNOWN}",
            NVSHARE_SIM_CALLS_FILE=str(calls),
        )
        self.daemon.close()
        self.daemon.swap_out()
        self.end_daemon(tenant)
        has_tried = lambda: f"{LIBRARY} cuMemCreate\n" in calls.read_text()
        self.wait_until(has_tried, "a try to bring it back")
        self.tell(tenant, "free")
        tenant.finish()


class Hanging(Alone):
    def test_who_waits_for_room_notices(self):
        """The daemon has the connection, and says nothing."""
        tenant = self.ready_tenant("limits", NVML)
        self.daemon.allow(8 * MIB)
        # Heard by then: it would have all the room that it was allowed before.
        self.daemon.wait_for_holds(lambda _: True)
        tenant.say(f"take plain {200 * MIB}")
        self.daemon.wait_for_holds(lambda holds: holds.asked > 0)
        tenant.wait_for_line("took 0")
        tenant.finish()


class TwoGpus(Alone):
    """Each can reach the other's memory."""

    gpus = 2
    scale = 256
    host_bytes = 0  # so that what has to go stays

    def ready_on_both(self):
        tenant = self.tenant("across", 20, "both")
        self.daemon.greet()
        self.allow_all(0)
        self.grants = [self.open(0)]
        self.daemon.expect("UseGpu")
        self.daemon.send("GpuKnown", ordinal=1, known=1)
        self.allow_all(1)
        self.grants.append(self.open(1))
        tenant.wait_for_progress()
        return tenant

    def allow_all(self, gpu):
        self.daemon.send("Allow", ordinal=gpu, flags=SHARED, number=1, bytes=ALL)

    def open(self, gpu):
        self.daemon.grant += 1
        self.daemon.send("Open", ordinal=gpu, grant=self.daemon.grant)
        return self.daemon.grant

    def close(self, gpu):
        answer = None
        while answer != "Drained":
            self.daemon.send("Close", ordinal=gpu, grant=self.grants[gpu])
            answer = self.daemon.expect("Drained", "Refused").name

    def test_what_had_to_go_on_another_gpu_may_stay(self):
        tenant = self.ready_on_both()
        self.close(1)
        self.close(0)
        self.daemon.send("Allow", ordinal=1, flags=SHARED, number=2, bytes=0)
        while (holds := self.daemon.expect("Holds")).ordinal != 1 or holds.number != 2:
            pass
        self.end_daemon(tenant)
        tenant.wait_for_progress()
        tenant.finish()


if __name__ == "__main__":
    unittest.main()
