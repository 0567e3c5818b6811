#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A library that is built to check looks at both ends of each move of memory. What was lost on the
way ends the process, with a line that says so.

usage: checked_moves_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import collections
import mmap
import re
import signal
import struct
import unittest

from exchange import LIBRARY
from fault_case import CHECKED, FaultCase
from swap_daemon import ScriptedDaemon
from tenant import PATIENCE_S


class CheckedMoves(ScriptedDaemon, FaultCase):
    scale = 256
    time = 0.01
    keeps_segments = True

    def begin(self, **variables):
        """One with memory of every kind, that has been out and in."""
        tenant = self.ready_tenant("mixed", 2, 2, library=CHECKED, **variables)
        tenant.wait_for_progress(1)
        self.daemon.close()
        self.switch()
        return tenant

    def switch(self):
        self.daemon.swap_out()
        self.daemon.swap_in()

    def test_what_is_not_lost_is_not_complained_of(self):
        tenant = self.begin()
        for _ in range(10):
            self.switch()
            self.daemon.open()
            tenant.wait_for_progress(1)
            self.daemon.close()
        self.daemon.open()
        tenant.say("stop")
        while tenant.process.poll() is None and self.daemon.serve_idle():
            self.daemon.open()
        tenant.check_ok()
        self.assertNotIn("nvshare: pid", str(tenant))

    def test_both_ends_are_looked_at(self):
        """What did not change leaves and comes without a hash, but for the checks."""
        file = self.folder.parent / "calls"
        self.begin(NVSHARE_SIM_CALLS_FILE=str(file))
        calls = lambda: collections.Counter(file.read_text().split("\n"))
        hashes, left = f"{LIBRARY} cuLaunchKernel", f"{LIBRARY} cuMemUnmap"
        before = calls()
        self.daemon.swap_out()
        between = calls()
        self.daemon.swap_in()
        after = calls()
        chunks = between[left] - before[left]
        self.assertGreaterEqual(chunks, 4)
        self.assertEqual(between[hashes] - before[hashes], chunks)
        self.assertEqual(after[hashes] - between[hashes], chunks)

    def test_a_byte_of_host_memory_is_another_one(self):
        tenant = self.begin()
        self.daemon.swap_out()
        (segment,) = self.daemon.segments
        with mmap.mmap(segment, 0) as content:
            at = re.search(rb"[^\0]", content).start()
            content[at] ^= 1
        with self.assertRaises((ConnectionError, struct.error)):
            self.daemon.swap_in()  # nobody answers any more
        self.assertEqual(tenant.process.wait(PATIENCE_S), -signal.SIGABRT, tenant)
        line = f"nvshare: pid {tenant.pid}: memory at 0x.* came back from host memory as other"
        self.assertRegex(str(tenant), line)


if __name__ == "__main__":
    unittest.main()
