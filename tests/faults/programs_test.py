#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that use the GPU in ways which make windows hard to end, beside a tenant that competes.

usage: programs_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase


class Programs(FaultCase):
    def check_beside_another(self, *words):
        tenant, other = self.tenant(*words), self.worker()
        tenant.wait_for_progress(20)
        self.wait_for_windows(tenant, 10)
        self.wait_for_windows(other, 10)
        self.check_goes_on(tenant, other)
        self.assertNotIn(self.state_of(tenant), ("loose", "unresponsive"))
        self.finish(tenant, other)

    def test_six_threads_with_six_streams(self):
        self.check_beside_another("streams")

    def test_captures_in_several_threads(self):
        self.check_beside_another("graphs", 4)

    def test_a_capture_that_any_thread_could_break(self):
        self.check_beside_another("graphs", 1)

    def test_contexts_that_go_with_work_in_them(self):
        self.check_beside_another("contexts")


class HugeCopies(FaultCase):
    scale = 64
    time = 1  # a copy of the whole takes half a second

    def test_others_run_in_between(self):
        other = self.worker()
        tenant = self.tenant("copies", 96, 2)
        for number in (1, 2):
            for way in ("in", "out"):
                tenant.wait_for_line(f"copying {way}", number)
                before = other.progress()
                tenant.wait_for_line(f"copied {way}", number)
                self.assertGreater(other.progress(), before, f"during copy {number} {way}")
        tenant.check_ok()
        self.finish(other)


if __name__ == "__main__":
    unittest.main()
