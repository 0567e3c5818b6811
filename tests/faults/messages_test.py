#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed before a message of an exchange of memory is handed on: what a tenant said
is lost, and what a tenant is told is the last word of that daemon. Tenants go on with the next one,
and their data is right in the end.

NVSHARE_KILLS=all kills it at more messages of each name.

usage: messages_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import os
import sys
import threading
import unittest

from exchange import ExchangeCase
from tap import Tap
from tenant import PATIENCE_S

NUMBERS = range(10) if os.environ.get("NVSHARE_KILLS") == "all" else (0,)
# While memory moves, chunk by chunk.
MOVES = {"Allow": {*NUMBERS, 1}, "Holds": {*NUMBERS, 1, 3}}
WINDOWS = ("Open", "Close", "Drained", "Want")
# To the next daemon, of tenants whose memory is in part in host memory that was another one's.
GREETINGS = ("Hello", "Welcome", "KeptHost", "UseGpu", "GpuKnown")
LOANS = ("NeedHost", "HostSegment")


class Messages(ExchangeCase):
    def setUp(self):
        super().setUp()
        self.tap = Tap(self.folder.parent / "tap", self.folder)
        self.addCleanup(self.tap.close)
        self.runs = 0

    def behind_tap(self, *words):
        self.runs += 1
        return self.tenant(*words, folder=self.tap.folder, NVSHARE_RUN=f"{self.runs:x}")

    def arm(self, name, number=0):
        """The daemon dies at that message. An event that tells when it has."""
        is_dead = threading.Event()

        def kill():
            self.kill_daemon()
            is_dead.set()

        self.tap.call_at(name, number, kill)
        return is_dead

    def next_daemon(self, is_dead, what):
        self.assertTrue(is_dead.wait(PATIENCE_S), f"no {what}: {self.tap.counts}")
        self.start_daemon()

    def test_the_daemon_dies_at_each(self):
        tenants = [self.behind_tap("mixed", 9, 2), self.behind_tap("mixed", 3, 1)]
        self.check_goes_on(*tenants)
        steps = [(name, number) for name, numbers in MOVES.items() for number in numbers]
        steps += [(name, number) for name in WINDOWS for number in NUMBERS]
        print(f"{len(steps) + len(GREETINGS) + len(LOANS)} daemons die", file=sys.stderr)
        for name, number in steps:
            self.next_daemon(self.arm(name, number), f"{name} {number}")
            self.check_goes_on(*tenants)
        for name in GREETINGS:
            self.kill_daemon()
            is_dead = self.arm(name)
            self.spawn_daemon()
            self.next_daemon(is_dead, name)
            self.check_goes_on(*tenants)
        for name in LOANS:
            is_dead = self.arm(name)
            newcomer = self.behind_tap("mixed", 3, 1)
            self.next_daemon(is_dead, name)
            self.check_goes_on(newcomer, *tenants)
            newcomer.finish()
        for tenant in tenants:
            tenant.finish()
        self.wait_until(lambda: not self.status()["tenants"], "all forgotten", self.status)


if __name__ == "__main__":
    unittest.main()
