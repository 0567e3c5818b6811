#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that use the GPU in ways which make windows hard to end, beside a tenant that competes.

usage: programs_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import pathlib
import re
import signal
import unittest

from fake_daemon import FakeDaemon
from fault_case import FaultCase

# For cancellation, and for setuid() in all threads, which waits until each of them took its signal.
LIBC_SIGNALS = (32, 33)


class Programs(FaultCase):
    def check_beside_another(self, *words):
        tenant, other = self.tenant(*words), self.worker()
        tenant.wait_for_progress(20)
        self.wait_for_windows(tenant, 10)
        self.wait_for_windows(other, 10)
        self.check_goes_on(tenant, other)
        # One that is held up by the machine may be loose or unresponsive for a moment.
        self.wait_for_state(tenant, "running", "waiting", "draining", "idle")
        self.finish(tenant, other)

    def test_six_threads_with_six_streams(self):
        self.check_beside_another("streams")

    def test_captures_in_several_threads(self):
        self.check_beside_another("graphs", 4)

    def test_a_capture_that_any_thread_could_break(self):
        self.check_beside_another("graphs", 1)

    def test_contexts_that_go_with_work_in_them(self):
        self.check_beside_another("contexts")


class Threads(FaultCase):
    def test_ours_take_no_signals_but_those_of_libc(self):
        tenant = self.worker()
        # A thread has its name once it runs, and only the other one was needed so far.
        named = lambda: [text for text in self.thread_texts(tenant) if "Name:\tnvshare\n" in text]
        self.wait_until(lambda: len(named()) >= 2, "one thread that listens, and one that drains")
        masks = [
            int(re.search(r"^SigBlk:\s*(\w+)", text, re.MULTILINE).group(1), 16)
            for text in named()
        ]
        free = {signal.SIGKILL, signal.SIGSTOP, *LIBC_SIGNALS}
        expected = sum(1 << (number - 1) for number in range(1, 65) if number not in free)
        self.assertEqual(masks, [expected] * 2, "one thread listens, and one drains")
        self.finish(tenant)

    def thread_texts(self, tenant):
        tasks = pathlib.Path("/proc", str(tenant.pid), "task")
        return [(task / "status").read_text() for task in tasks.iterdir()]


class Marks(FaultCase):
    """Programs that the library's marks in a bounded queue could break."""

    def check_ends(self, *words):
        folder = self.folder.parent / "fake"
        daemon = FakeDaemon(folder)
        self.addCleanup(daemon.end)
        tenant = self.tenant(*words, folder=folder)
        daemon.greet()
        daemon.open(bound_ns=2_000_000)
        tenant.check_ok()

    def test_a_stream_that_waits_for_another(self):
        self.check_ends("stream_waits")

    def test_a_capture_beside_the_default_streams_of_threads(self):
        self.check_ends("per_thread")


class HugeCopies(FaultCase):
    # Twelve pieces of 11 ms each, which are more than three windows. Much longer ones would look
    # like work that waits for other work, and be let in one after the other.
    scale = 2
    time = 2

    def test_others_run_in_between(self):
        other = self.worker()
        tenant = self.tenant("copies", 384, 3)
        tenant.wait_for_line("copying out", 3)
        tenant.check_ok()
        # A copy in one piece would take one window, with one switch to it and one from it.
        copies = 6
        self.assertGreater(self.status()["gpus"][0]["switches"], 2 * 3 * copies)
        self.finish(other)


if __name__ == "__main__":
    unittest.main()
