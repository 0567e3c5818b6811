#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Host memory that is too little for all to keep what they have of it: it goes to whoever needs it.

usage: host_memory_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase

MIB = 1 << 20
OUT_OF_MEMORY = 2


class SmallPool(FaultCase):
    scale = 32  # 464 MiB, some of which contexts take
    time = 0.02
    daemon_options = ("--turn", "100ms", "--gpu-memory", "400MiB", "--host-memory", "640MiB")

    def test_all_have_their_turns(self):
        """The large one needs seven segments of ten when it leaves, the others two each."""
        tenants = [self.tenant("holder", 47, 7)]
        tenants[0].wait_for_progress()
        for _ in range(3):
            tenants.append(self.tenant("holder", 28, 4))
            tenants[-1].wait_for_progress()
        for _ in range(2):
            for tenant in tenants:
                tenant.wait_for_progress()
        self.wait_until(lambda: self.swapped_bytes() > 200 * MIB, "most of it away", self.status)
        self.check_segments()
        self.finish(*tenants)

    def swapped_bytes(self):
        """Of all of them at one moment: what is away for one comes in for another."""
        rows = self.status()["tenants"]
        return sum(on["swapped_bytes"] for row in rows for on in row["gpus"])


class NoRoom(FaultCase):
    scale = 32
    time = 0.02
    daemon_options = ("--turn", "100ms", "--gpu-memory", "400MiB", "--host-memory", "64MiB")

    def test_what_could_never_be_had_is_refused(self):
        """And nobody else notices: the only segment is needed for an exchange."""
        first = self.tenant("holder", 47, 6)
        first.wait_for_progress()
        second = self.tenant("holder", 28, 5)
        line = second.wait_for_line("failed")
        self.assertIn(f"cuMemAlloc_v2(&address, bytes) returned {OUT_OF_MEMORY}", line)
        first.wait_for_progress()
        self.finish(first)


if __name__ == "__main__":
    unittest.main()
