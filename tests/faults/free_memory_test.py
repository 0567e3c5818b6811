#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs are told is free can be had: beside other processes of their tenant, and beside
programs that use the GPU without the library.

usage: free_memory_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from told_case import MIB, NVML, Told

# Of a process's memory, which lies in pages of its own.
ROUNDING = 4 * MIB


class FreeMemory(Told):
    scale = 32

    def process(self, run="f4ee", **more):
        tenant = self.tenant("limits", NVML, NVSHARE_RUN=run, **more)
        tenant.wait_for_line("ready")
        return tenant

    def gpu(self):
        return self.status()["gpus"][0]

    def take_part(self, tenant):
        """Three quarters of what is free, as frameworks take it."""
        size = self.sizes(tenant)[1] * 3 // 4
        self.assertTrue(self.take(tenant, "plain", size), f"{size >> 20} MiB of what is free")
        return size

    def seen_by_smi(self):
        smi = self.tenant("smi", NVML, NVSHARE_RUN="f4ee")
        seen = [int(word) for word in smi.wait_for_line("sizes").split()[1:]]
        smi.check_ok()
        return seen

    def test_processes_of_one_tenant_share_it(self):
        first, second = self.process(), self.process()
        total = self.sizes(first)[0]
        taken = self.take_part(first)
        self.assertLessEqual(self.sizes(second)[1], total - taken)
        taken += self.take_part(second)
        third = self.process()
        taken += self.take_part(third)
        used = self.on_gpu(first)["memory_used_bytes"]
        self.assertGreaterEqual(used, taken)
        frees = [self.sizes(tenant)[1] for tenant in (first, second, third)]
        seen, free, _ = self.seen_by_smi()
        self.assertEqual(seen, total)
        for one in frees:
            self.assertLessEqual(one, total - used)
            self.assertAlmostEqual(one, free, delta=ROUNDING)
        # Another tenant has the card for itself, by turns.
        stranger = self.process("0dd")
        self.assertGreater(self.sizes(stranger)[1], total * 3 // 4)
        self.finish(first, second, third, stranger)

    def test_what_foreign_programs_have_is_not_free(self):
        early = self.process("ea41")
        total, free = self.sizes(early)
        foreign = self.process(library=None)
        size = total * 3 // 4
        self.assertTrue(self.take(foreign, "plain", size))
        self.wait_until(lambda: self.gpu()["other_bytes"] >= size, "the foreign memory", self.gpu)
        left = self.gpu()["capacity_bytes"]
        is_told = lambda: self.sizes(early)[1] <= left
        self.wait_until(is_told, f"{left} that are free", lambda: self.sizes(early))
        self.assertTrue(self.take(early, "plain", self.sizes(early)[1] - ROUNDING), "all of it")
        self.give(early)
        late = self.process("1a7e")
        self.assertLessEqual(self.sizes(late)[1], left)
        self.take_part(late)
        self.give(foreign)
        self.wait_until(lambda: self.gpu()["other_bytes"] < size, "its end", self.gpu)
        self.wait_until(lambda: self.sizes(early)[1] >= free - ROUNDING, "what was free before")
        foreign.finish()
        self.finish(early, late)


if __name__ == "__main__":
    unittest.main()
