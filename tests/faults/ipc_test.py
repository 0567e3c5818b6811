#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that can be moved is opened in another process, by way of the daemon.

usage: ipc_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import contextlib
import resource
import struct
import unittest

from fault_case import FaultCase, open_files
from sharing_daemon import SharingDaemon
from swap_daemon import ALL
from told_case import NVML, Told

MIB = 1 << 20
SCALE = 16
# What ipc_share has: 5 bytes more than 100 MiB, in pages of 2 MiB scaled, and an arena of small
# pieces, one of which is shared; and what nobody else can have.
SHARED, OWN = 100 * MIB + 2 * MIB // SCALE + 2 * MIB, 8 * MIB

MANY = 300  # the simulator has a file for each, and programs may have a thousand
# To tell a new daemon of so many takes more messages than it lets a client that has just come send
# at once; and of so many files the daemon has an eighth for what is shared.
VERY_MANY, FILES = 1000, 8 * 1024


class Ipc(FaultCase):
    scale = SCALE
    time = 0.05

    def share(self):
        maker = self.tenant("ipc_share")
        handles = [maker.wait_for_line("handle", number).split()[1] for number in (1, 2)]
        return maker, handles

    def test_both_see_what_the_other_writes(self):
        maker, handles = self.share()
        opener = self.tenant("ipc_open", *handles)
        opener.wait_for_line("written")
        maker.say()
        maker.wait_for_line("freed")
        # Who has it keeps it, and nobody else can have it any more.
        self.check_refused(self.tenant("ipc_open", *handles))
        opener.say()
        opener.wait_for_line("gone")
        opener.check_ok()
        maker.finish()

    def test_the_handles_of_a_process_that_ended_open_nothing(self):
        maker, handles = self.share()
        maker.kill()
        self.wait_until_forgotten(maker)
        self.check_refused(self.tenant("ipc_open", *handles))

    def check_refused(self, opener):
        opener.wait_for(lambda: any("OpenMemHandle" in line for line in opener.lines), "refusal")


class Many(FaultCase):
    scale = 4  # there is room for them
    time = 0.05

    def make(self, count):
        """Who shares so many, and their handles."""
        maker = self.tenant("ipc_share_many", count)
        maker.wait_for_line("handle", count)
        return maker, [line.split()[1] for line in maker.lines if line.startswith("handle")]

    def check_open(self, handles):
        opener = self.tenant("ipc_open_many")
        for handle in (*handles, ""):
            opener.say(handle)
        opener.wait_for_line(f"opened {len(handles)}")
        opener.check_ok()

    def test_there_is_room_for_many(self):
        maker, handles = self.make(MANY)
        self.check_open(handles)
        maker.finish()

    def test_the_next_daemon_gets_very_many(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < FILES:
            self.skipTest(f"a limit of {hard} open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))  # of tenants
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        maker, handles = self.make(VERY_MANY)
        self.kill_daemon()
        self.start_daemon()
        files = lambda: len(list(open_files(self.daemon.pid)))
        self.wait_until(lambda: files() > VERY_MANY, "what is shared", files)
        self.check_open(handles)
        self.assertNotIn("client closed", self.log_text())
        maker.finish()


class Openers(Told):
    """It is on the GPU once, however many have it open."""

    scale = 32
    BYTES, OWN, OPENERS = 100 * MIB, MIB, 4

    def process(self, run):
        tenant = self.tenant("limits", NVML, NVSHARE_RUN=run)
        tenant.wait_for_line("ready")
        return tenant

    def test_they_leave_strangers_what_is_free(self):
        maker, *openers = (self.process("a11") for _ in range(1 + self.OPENERS))
        stranger = self.process("a12")
        self.assertTrue(self.take(maker, "plain", self.BYTES))
        maker.say("share")
        handle = maker.wait_for_line("handle").split()[1]
        for opener in openers:
            opener.say(f"open {handle}")
            self.assertEqual(opener.wait_for_line("took"), "took 0")
            opener.taken = 1
            self.assertTrue(self.take(opener, "plain", self.OWN))
        # By then the daemon knows what all of them have open.
        of_all = lambda: self.on_gpu(maker)
        is_told = lambda: of_all()["resident_bytes"] >= self.OPENERS * self.OWN
        self.wait_until(is_told, "what the openers have", of_all)
        self.assertEqual(of_all()["fixed_bytes"], self.BYTES)
        # And what their contexts take, which is not to be had.
        gpu = lambda: self.status()["gpus"][0]
        self.wait_until(lambda: gpu()["other_bytes"] > 0, "the size of contexts", gpu)
        left = gpu()["capacity_bytes"] - of_all()["fixed_bytes"]
        self.assertTrue(self.take(stranger, "plain", left - 4 * self.OWN))
        for tenant in (stranger, *openers, maker):
            self.give(tenant)
        self.finish(stranger, *openers, maker)


class Restarted(Told):
    """The next daemon gets what the last one had."""

    scale = 32
    BYTES = 100 * MIB  # of several chunks

    def setUp(self):
        super().setUp()
        self.maker = self.tenant("limits", NVML)
        self.maker.wait_for_line("ready")
        self.assertTrue(self.take(self.maker, "plain", self.BYTES))
        self.handle = self.share()
        self.kill_daemon()
        self.start_daemon()
        self.wait_until(lambda: self.on_gpu(self.maker), "the maker in status")

    def share(self):
        self.maker.shares = getattr(self.maker, "shares", 0) + 1
        self.maker.say("share")
        return self.maker.wait_for_line("handle", self.maker.shares).split()[1]

    def can_open(self):
        opener = self.tenant("limits", NVML)
        opener.wait_for_line("ready")
        opener.say(f"open {self.handle}")
        is_open = opener.wait_for_line("took") == "took 0"
        self.finish(opener)
        return is_open

    def test_a_handle_that_is_asked_for_again_opens(self):
        self.assertEqual(self.share(), self.handle)
        self.assertTrue(self.can_open())
        self.finish(self.maker)

    def test_a_handle_of_before_opens(self):
        self.wait_until(self.can_open, "a handle that opens")
        self.give(self.maker)
        self.assertFalse(self.can_open())
        self.finish(self.maker)


class Unevictable(FaultCase):
    """With daemons that do what the test says, one for each tenant. They share what they keep."""

    scale = SCALE
    time = 0.05

    def start_daemon(self):
        self.daemons, shares = [], {}
        for folder in (self.folder, self.folder.with_name("other")):
            self.daemons.append(SharingDaemon(folder, shares))
            self.addCleanup(self.daemons[-1].end)

    def kill_daemon(self):
        pass

    def serve_until(self, condition, what, shown):
        """Both daemons answer meanwhile."""

        def is_so():
            for daemon in self.daemons:
                with contextlib.suppress(ConnectionError, struct.error):  # who ends says nothing
                    if daemon.client:
                        daemon.serve()
            return condition()

        self.wait_until(is_so, what, shown)

    def wait_for(self, tenant, line, number=1):
        said = lambda: [one for one in tenant.lines if one.startswith(line)][number - 1 :]
        self.serve_until(said, f"'{line}' of", lambda: tenant)
        return said()[0]

    def begin(self, daemon):
        daemon.greet()
        daemon.allow(ALL)
        daemon.open()

    def test_what_others_may_have_open_does_not_leave(self):
        own, others = self.daemons
        maker = self.tenant("ipc_share")
        self.begin(own)
        handles = [self.wait_for(maker, "handle", number).split()[1] for number in (1, 2)]
        own.close()
        held = own.swap_out()
        self.assertEqual(held.away, OWN, "what is the maker's alone")
        self.assertEqual(held.fixed, SHARED)
        chunks = len(own.shares)
        opener = self.tenant("ipc_open", *handles, folder=self.folder.with_name("other"))
        self.begin(others)
        self.wait_for(opener, "written")
        self.assertEqual(own.swap_in().resident, OWN)
        self.assertEqual(own.swap_out().fixed, SHARED, "also while it is open")
        own.swap_in()
        own.open()
        maker.say()
        self.wait_for(maker, "freed")
        is_gone = lambda: len(own.shares) < chunks
        self.serve_until(is_gone, "an end of what was shared", lambda: own.shares)
        opener.say()
        self.wait_for(opener, "gone")
        opener.check_ok()
        maker.finish()


if __name__ == "__main__":
    unittest.main()
