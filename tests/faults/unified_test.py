#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Device memory as Unified Memory: more of it than the GPU has, and on drivers without VMM.

usage: unified_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import BUILD, FaultCase, environment
from swap_daemon import ALL, ScriptedDaemon
from tenant import PATIENCE_S, Tenant

MIB = 1 << 20
BOUND_NS = 2_000_000
# Of more than a second: the program must not end before its first window is closed.
ITERATIONS = 1000
EXCEED = {"NVSHARE_ENABLE_SINGLE_OVERSUB": "1"}
OLD_DRIVER = {"NVSHARE_SIM_WITHOUT": "vmm"}


class Unified(FaultCase):
    def workload(self, *words, **variables):
        extra = {"NVSHARE_FOLDER": str(self.folder), **self.machine, **variables}
        extra["LD_PRELOAD"] = str(BUILD / "lib/libnvshare.so")
        command = [str(BUILD / "bin/nvshare-workload"), "add", "--rewrite", *map(str, words)]
        command += ["--progress", "lines", "--driver", str(BUILD / "lib/sim/libcuda.so.1")]
        tenant = Tenant(command, environment(**extra))
        self.addCleanup(tenant.end)
        return tenant

    def passes(self, *tenants):
        for tenant in tenants:
            self.assertEqual(tenant.process.wait(PATIENCE_S), 0, tenant)
            tenant.reader.join(PATIENCE_S)
            self.assertTrue(any("PASS" in line for line in tenant.lines), tenant)

    def is_refused(self, tenant):
        self.assertEqual(tenant.process.wait(PATIENCE_S), 1, tenant)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", str(tenant))

    def bytes_on_gpu(self):
        auditor = self.tenant("ledger", 0, library=None)
        line = auditor.wait_for_line("ledger")
        auditor.check_ok()
        auditor.end()
        return int(line.split()[1])


class WithoutDaemon(Unified):
    scale = 64
    time = 0.02

    def start_daemon(self):
        pass

    def kill_daemon(self):
        pass

    def test_more_than_the_gpu_has(self):
        self.passes(self.workload("--size", "24G", "--iterations", 2, **EXCEED))

    def test_not_unless_it_is_asked_for(self):
        self.is_refused(self.workload("--size", "24G", "--iterations", 2))
        self.is_refused(
            self.workload("--size", "24G", "--iterations", 2, NVSHARE_ENABLE_SINGLE_OVERSUB="0")
        )


class WithDaemon(Unified):
    scale = 64
    time = 0.02

    def is_swapped(self, tenant, size):
        """Of all that it has, some counts as away."""
        on = self.on_gpu(tenant)
        return on and on["managed_bytes"] >= size and on["swapped_bytes"] > 0

    def with_managed(self, tenant):
        """What it has, once that is all of it: it may end at any moment after."""
        on = self.on_gpu(tenant)
        return on if on and on["managed_bytes"] >= 380 * MIB else None

    def test_more_than_the_gpu_has(self):
        tenant = self.workload("--size", "24G", "--iterations", 12, **EXCEED)
        on = self.wait_until(lambda: self.with_managed(tenant), "the daemon to know of it")
        size = self.status()["gpus"][0]["memory_bytes"]
        self.assertLessEqual(on["resident_bytes"] + on["swapped_bytes"] + on["fixed_bytes"], size)
        self.passes(tenant)

    def test_not_unless_it_is_asked_for(self):
        self.is_refused(self.workload("--size", "24G", "--iterations", 2))

    def test_beside_one_whose_memory_is_moved(self):
        tenants = [
            self.workload("--size", "20G", "--iterations", 10, **EXCEED),
            self.workload("--size", "8G", "--iterations", 60),
        ]
        self.passes(*tenants)

    def test_a_driver_without_vmm(self):
        """Two that do not fit together take turns; one that can never fit is refused."""
        tenants = [self.workload("--size", "12G", "--iterations", 60, **OLD_DRIVER) for _ in "ab"]
        for tenant in tenants:
            self.wait_until(lambda: self.is_swapped(tenant, 190 * MIB), f"the turn of {tenant.pid}")
        self.passes(*tenants)
        self.is_refused(self.workload("--size", "24G", "--iterations", 2, **OLD_DRIVER))


class OnItsTurn(ScriptedDaemon, Unified):
    """The daemon is a script, so that every step happens when the test says so."""

    scale = 32
    time = 0.05

    def begin(self):
        """A workload of 4 GiB (128 MiB here), with its window open and closed again."""
        tenant = self.workload("--size", "4G", "--iterations", ITERATIONS, **EXCEED)
        self.daemon.greet()
        self.daemon.allow(ALL)
        self.daemon.open(BOUND_NS)
        self.daemon.wait_for_holds(lambda holds: holds.resident >= 125 * MIB)
        self.daemon.close()
        return tenant

    def ends_well(self, tenant):
        self.daemon.open(BOUND_NS)
        while tenant.process.poll() is None and self.daemon.serve_idle():
            self.daemon.open(BOUND_NS)
        self.passes(tenant)

    def push_out(self):
        """Somebody outside takes nearly all that the GPU has."""
        other = self.workload("--size", "14G", "--iterations", 1, NVSHARE_DISABLE="1")
        self.daemon.serve_while(lambda: other.process.poll() is None)
        self.passes(other)

    def test_all_of_it_is_brought_in_before_the_window(self):
        tenant = self.begin()
        for _ in range(2):
            held = self.daemon.swap_out()
            self.assertEqual(held.resident, 0)
            self.assertGreaterEqual(held.away, 125 * MIB)
            self.assertGreaterEqual(held.managed, 125 * MIB)
            self.assertLess(held.fixed, 5 * MIB)
            self.push_out()
            self.assertLess(self.bytes_on_gpu(), 64 * MIB)
            self.assertEqual(self.daemon.swap_in().away, 0)
            self.assertGreaterEqual(self.bytes_on_gpu(), 125 * MIB)
        self.ends_well(tenant)

    def test_only_what_must_go_counts_as_gone(self):
        tenant = self.begin()
        held = self.daemon.swap_out(keep=75 * MIB)
        self.assertEqual(held.resident, 75 * MIB)
        for keep in (100, 32, 65, 0, 128, 5, 50):
            self.daemon.allow(keep * MIB)
        self.daemon.swap_in()
        self.ends_well(tenant)

    def test_no_window_while_it_counts_as_away(self):
        tenant = self.begin()
        self.daemon.swap_out()
        self.daemon.open(BOUND_NS)
        self.daemon.expect("Drained")
        self.daemon.swap_in()
        self.ends_well(tenant)

    def test_the_daemon_goes_while_it_counts_as_away(self):
        tenant = self.begin()
        self.daemon.swap_out()
        self.daemon.end()
        self.passes(tenant)


if __name__ == "__main__":
    unittest.main()
