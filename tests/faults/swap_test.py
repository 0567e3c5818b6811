#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of real processes goes to the host and comes back, and nothing of it is lost.

usage: swap_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import time
import unittest

from fault_case import BUILD, FaultCase, environment
from swap_daemon import ALL, SwapDaemon
from tenant import PATIENCE_S, Tenant

MIB = 1 << 20
BOUND_NS = 2_000_000


class Swap(FaultCase):
    scale = 16
    time = 0.05
    bytes = 500 * MIB

    def start_daemon(self):
        self.daemon = SwapDaemon(self.folder)
        self.addCleanup(self.daemon.end)

    def kill_daemon(self):
        pass

    def begin(self, *words):
        """A workload, with its window open for the first time."""
        extra = {"NVSHARE_FOLDER": str(self.folder), **self.machine}
        extra["LD_PRELOAD"] = str(BUILD / "lib/libnvshare.so")
        command = [str(BUILD / "bin/nvshare-workload"), *words, "--progress", "lines"]
        command += ["--driver", str(BUILD / "lib/sim/libcuda.so.1")]
        tenant = Tenant(command, environment(**extra))
        self.addCleanup(tenant.end)
        self.daemon.greet()
        self.daemon.allow(ALL)
        self.daemon.open(BOUND_NS)
        self.daemon.wait_for_holds(lambda holds: holds.resident >= self.bytes)
        return tenant

    def ends_well(self, tenant):
        self.daemon.client.settimeout(0.05)
        while tenant.process.poll() is None:
            try:
                self.daemon.expect("Drained")
                self.daemon.open(BOUND_NS)
            except TimeoutError:
                pass
            except ValueError:
                break
        self.assertEqual(tenant.process.wait(PATIENCE_S), 0, tenant)
        self.assertTrue(any("PASS" in line for line in tenant.lines), tenant)

    def test_out_and_in_again_and_again(self):
        tenant = self.begin("add", "--size", "8G", "--rewrite", "--iterations", "400")
        for _ in range(10):
            self.daemon.close()
            held = self.daemon.swap_out()
            self.assertGreaterEqual(held.away, self.bytes)
            self.daemon.swap_in()
            self.daemon.open(BOUND_NS)
            time.sleep(0.05)
        self.ends_well(tenant)


if __name__ == "__main__":
    unittest.main()
