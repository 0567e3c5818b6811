#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tenant whose second GPU works on memory of its first, beside one that needs the first GPU's
memory: what leaves does so under nobody's work, what is named is there, and both get on.

usage: across_gpus_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase

MIB = 20  # of a GPU of 64 here: its neighbour's 45 do not fit beside it


class AcrossGpus(FaultCase):
    gpus = 2
    scale = 256
    time = 0.05
    window = "5ms"
    daemon_options = ("--turn", "100ms", "--host-memory", "640MiB")

    def begin(self, *words):
        """The tenant, and its neighbour on the first GPU."""
        ours = self.tenant("across", MIB, *words)
        ours.wait_for_progress(1)
        neighbour = self.tenant("mixed", 9, 2)
        neighbour.wait_for_progress(1)
        return ours, neighbour

    def share(self, *words):
        """Both get on, several times over, and all data is right to the end."""
        ours, neighbour = self.begin(*words)
        for _ in range(3):
            ours.wait_for_progress(1)
            neighbour.wait_for_progress(1)
        self.assertGreater(self.on_gpu(ours)["copied_out_bytes"], 0, "nothing had to leave")
        self.finish(ours, neighbour)


class Copies(AcrossGpus):
    """Without peer access: in flight when the memory has to go."""

    def test_between_contexts(self):
        self.share("ahead", "peer")

    def test_by_unified_addresses(self):
        self.share("ahead", "dtod")


class Late(AcrossGpus):
    """Calls that name memory of a GPU that is not current, while it is away."""

    def test_copy(self):
        self.share("late", "dtod")

    def test_copy_of_any_kind(self):
        self.share("late", "any")

    def test_copy_between_contexts(self):
        self.share("late", "peer")

    def test_copy_of_rows(self):
        self.share("late", "rows")

    def test_read(self):
        self.share("late", "dtoh")

    def test_write(self):
        self.share("late", "htod")

    def test_fill(self):
        self.share("late", "set")

    def test_captured_copy(self):
        self.share("late", "graph")

    def test_copy_node(self):
        self.share("late", "node")

    def test_kernel_of_a_forked_capture(self):
        self.share("late", "fork")

    def test_kernel_node(self):
        self.share("late", "kernel")


class Graphs(AcrossGpus):
    """Launched on one GPU, with kernels on the other."""

    def test_far_ahead(self):
        self.share("graphs")


class Peers(AcrossGpus):
    """With peer access, by which kernels need not name anything."""

    def test_kernels_that_could(self):
        self.share("kernels")

    def test_kernels_that_do(self):
        """They find the memory where it was, and may still use it, each time that it is back."""
        self.share("kernels", "using")

    def test_contexts_beside_it_that_have_it_for_a_moment(self):
        self.share("others")

    def test_work_on_both(self):
        self.share("both")

    def test_two_that_fit_neither_gpu_together(self):
        ours = [self.tenant("across", 36, "both"), self.tenant("across", 36, "kernels", "using")]
        for _ in range(4):
            for tenant in ours:
                tenant.wait_for_progress(1)
        self.finish(*ours)

    def test_daemons_that_come_and_go(self):
        """Who reaches memory that is away waits for it without a daemon too."""
        ours, neighbour = self.begin("kernels", "using")
        for _ in range(3):
            self.kill_daemon()
            self.start_daemon()
            ours.wait_for_progress(1)
            neighbour.wait_for_progress(1)
        self.finish(ours, neighbour)

    def test_a_kernel_that_does_not_end(self):
        """The memory that it can reach stays. Who has it and who fits go on; who needs it waits,
        and gets it when the kernel has ended."""
        ours = self.tenant("across", MIB, "stuck")
        ours.wait_for_progress()
        small = self.worker()
        neighbour = self.tenant("mixed", 9, 2)
        self.wait_for_lines(self.row_of(ours)["id"], "a tenant does not move its memory")
        self.check_goes_on(ours, small)
        self.assertFalse(neighbour.lines, "it waits")
        ours.say()
        ours.wait_for_line("released")
        neighbour.wait_for_progress()
        self.check_goes_on(ours, small)
        self.finish(ours, small, neighbour)


if __name__ == "__main__":
    unittest.main()
