#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that stays the driver's own is had beside tenants whose memory fills the GPU, as any other
memory is.

usage: native_memory_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from told_case import MIB, NVML, OUT_OF_MEMORY, Told


class Native(Told):
    scale = 16  # 933 MiB
    time = 0.05
    window = "5ms"
    daemon_options = ("--turn", "100ms")

    def told(self, **variables):
        tenant = self.tenant("limits", NVML, **variables)
        tenant.wait_for_line("ready")
        return tenant

    def test_others_make_room_for_it(self):
        neighbour = self.tenant("mixed", 115, 3)  # 690 MiB
        neighbour.wait_for_progress()
        tenant = self.told()
        self.assertTrue(self.take(tenant, "native", 300 * MIB))
        on = self.wait_until(lambda: self.on_gpu(tenant), "the tenant's row")
        self.assertGreaterEqual(on["fixed_bytes"], 300 * MIB)
        # More than it is shown is refused as ever.
        self.assertFalse(self.take(tenant, "native", 700 * MIB))
        self.give(tenant)
        self.check_goes_on(neighbour)
        self.finish(tenant, neighbour)

    def fill(self, tenant, size):
        """It has that much, and is idle then."""
        self.assertTrue(self.take(tenant, "plain", size))
        self.write(tenant)

    def write(self, tenant):
        tenant.written = getattr(tenant, "written", 0) + 1
        tenant.say("write")
        tenant.wait_for_line("wrote", tenant.written)

    def fixed_bytes(self, tenant):
        return self.wait_until(lambda: self.on_gpu(tenant), "its row")["fixed_bytes"]

    def test_others_make_room_for_graphs(self):
        neighbour, tenant = self.told(), self.told()
        self.fill(neighbour, 700 * MIB)
        self.assertTrue(self.take(tenant, "graph", 400 * MIB))
        self.assertGreaterEqual(self.fixed_bytes(tenant), 400 * MIB)
        self.finish(tenant)
        self.write(neighbour)
        self.finish(neighbour)

    def test_graphs_that_share_count_once(self):
        neighbour, tenant = self.told(), self.told()
        self.fill(neighbour, 700 * MIB)
        for _ in range(3):
            self.assertTrue(self.take(tenant, "graph_freed", 400 * MIB))
        self.assertIn(self.fixed_bytes(tenant) // MIB, range(400, 450))
        self.finish(tenant)
        self.write(neighbour)
        self.finish(neighbour)

    def test_what_is_allocated_goes_before_graphs_to_come(self):
        tenant = self.told()
        self.assertTrue(self.take(tenant, "idle_graph", 400 * MIB))
        self.assertTrue(self.take(tenant, "plain", 700 * MIB))
        self.finish(tenant)

    def test_a_row_to_learn_the_pitch_from_is_waited_for(self):
        fails = f"cuMemAllocPitch_v2@fault_tenant:0:2:{OUT_OF_MEMORY}"
        tenant = self.told(NVSHARE_SIM_FAIL=fails)
        self.assertTrue(self.take(tenant, "pitched", 10 * MIB))
        self.finish(tenant)


if __name__ == "__main__":
    unittest.main()
