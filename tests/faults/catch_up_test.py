#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels that wait for each other, when windows end with one of them launched and the other not:
the one that is held back is let in, and no drain is given up.

usage: catch_up_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase
from tap import Tap

ROUNDS = 200


class CatchUp(FaultCase):
    window = "5ms"  # many that end in the middle of a meeting

    def setUp(self):
        super().setUp()
        self.tap = Tap(self.folder.parent / "tap", self.folder)
        self.addCleanup(self.tap.close)

    def member(self, *words):
        """One process of the tenant whose packets are counted."""
        return self.tenant(*words, folder=self.tap.folder, NVSHARE_RUN="feed")

    def check_meetings(self, members, others):
        # Not so many from now on: it ends by itself, and may have got far before it is listened to.
        members[0].wait_for_line("at ", 3)
        self.check_goes_on(*others)
        members[0].wait_for_line(f"at {ROUNDS}")
        for member in members:
            member.check_ok()
        self.check_goes_on(*others)
        self.finish(*others)
        counts = self.tap.counts
        self.assertGreater(counts["Close"], 0, counts)
        self.assertEqual(counts["Refused"], 0, counts)
        self.assertGreater(counts["LetIn"], 0, counts)


class TwoGpus(CatchUp):
    gpus = 2

    def check_on_two_gpus(self, threads):
        others = [self.worker(0), self.worker(1)]
        self.check_meetings([self.member("meet_gpus", threads, ROUNDS)], others)

    def test_one_thread_launches_on_both(self):
        self.check_on_two_gpus(1)

    def test_a_thread_for_each(self):
        self.check_on_two_gpus(2)


class TwoProcesses(CatchUp):
    def test_on_one_gpu(self):
        words = self.folder.parent / "words"
        words.write_bytes(bytes(4096))
        other = self.worker()
        pair = [self.member("meet_pair", side, ROUNDS, words) for side in (0, 1)]
        self.check_meetings(pair, [other])


if __name__ == "__main__":
    unittest.main()
