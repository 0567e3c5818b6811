#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the driver has for a tenant's processes by itself is shown of that tenant, whatever else the
tenant has and whoever else is on the GPU.

usage: driver_memory_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import re
import unittest

import daemon_modules  # noqa: F401
from scrape import scrape
from told_case import MIB, NVML, Told

CONTEXT = 108 * MIB  # of a process on this card, unscaled
PAGE = 2 * MIB  # in which memory is told and taken


class DriverMemory(Told):
    scale = 8
    daemon_options = ("--metrics", "127.0.0.1:0")

    def process(self, run, **more):
        tenant = self.tenant("limits", NVML, NVSHARE_RUN=run, **more)
        tenant.wait_for_line("ready")
        return tenant

    def driver_bytes(self, tenant):
        on = self.on_gpu(tenant)
        return on and on["driver_bytes"]

    def wait_for_contexts(self, tenant, number):
        """So many are what the driver has for it."""
        wanted = number * CONTEXT // self.scale
        is_so = lambda: abs((self.driver_bytes(tenant) or 0) - wanted) < PAGE
        self.wait_until(is_so, f"{wanted} bytes of the driver's", lambda: self.on_gpu(tenant))

    def test_it_is_the_tenants_contexts(self):
        one, *both = (self.process(run) for run in ("d01", "d02", "d02"))
        foreign = self.process("d03", library=None)
        self.assertTrue(self.take(foreign, "plain", 40 * MIB))
        self.assertTrue(self.take(one, "plain", 100 * MIB))
        self.assertTrue(self.take(one, "native", 30 * MIB))
        self.assertTrue(self.take(both[1], "plain", 60 * MIB))
        self.wait_for_contexts(one, 1)
        self.wait_for_contexts(both[0], 2)
        on = self.on_gpu(one)
        self.assertGreaterEqual(on["resident_bytes"], 100 * MIB)
        self.assertGreaterEqual(on["fixed_bytes"], 30 * MIB)
        # The foreign program is in no tenant's row, and the driver's part of all is in OTHER.
        other = 4 * CONTEXT // self.scale + 40 * MIB
        gpu = lambda: self.status()["gpus"][0]
        is_so = lambda: abs(gpu()["other_bytes"] - other) < 4 * PAGE
        self.wait_until(is_so, f"{other} bytes of others", gpu)
        self.check_shown(one)
        self.give(one)
        self.wait_for_contexts(one, 1)
        both.pop().finish()
        self.wait_for_contexts(both[0], 1)
        foreign.finish()
        self.finish(one, *both)

    def check_shown(self, tenant):
        """To people, and to Prometheus."""
        port = int(re.search(r'msg="metrics are served" port=(\d+)', self.log_text())[1])
        number = str(self.row_of(tenant)["id"])
        driver = self.driver_bytes(tenant)
        value = lambda: scrape(port).value("nvshare_tenant_memory_driver_bytes", tenant=number)
        self.wait_until(lambda: value() == driver, f"the metric of {driver} bytes", value)
        table = self.nvsharectl("status").split("UNEVICTABLE", 1)[1]
        row = next(line.split() for line in table.splitlines() if line.split()[:1] == [number])
        self.assertRegex(row[-1], r"^1[34](\.\d)?MiB$")
        self.assertRegex(row[-3], r"^4[34](\.\d)?MiB$")


if __name__ == "__main__":
    unittest.main()
