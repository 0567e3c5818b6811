#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of real processes goes to the host and comes back, and nothing of it is lost.

The daemon is a script, so that every step happens when the test says so.

usage: swap_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import contextlib
import re
import resource
import shutil
import struct
import time
import unittest
from pathlib import Path

from fault_case import BUILD, PRODUCT, FaultCase, environment
from swap_daemon import ALL, ScriptedDaemon
from tenant import PATIENCE_S, Tenant

MIB = 1 << 20
BOUND_NS = 2_000_000
# Some iterations of the program.
RUN_S = 0.05
# Of more than a second. They are made in windows alone: a program that has some while the test goes
# on does not end before it, however slow the machine is.
ITERATIONS = 800


class Swap(ScriptedDaemon, FaultCase):
    scale = 16
    time = 0.05

    def begin(self, workload, *words):
        """A workload of 4 GiB (256 MiB here), with its window open for the first time."""
        extra = {"NVSHARE_FOLDER": str(self.folder), **self.machine}
        extra["LD_PRELOAD"] = str(BUILD / PRODUCT)
        command = [str(BUILD / "bin/nvshare-workload"), workload, "--size", "4G", *words]
        command += ["--progress", "lines", "--driver", str(BUILD / "lib/sim/libcuda.so.1")]
        tenant = Tenant(command, environment(**extra))
        self.addCleanup(tenant.end)
        self.daemon.greet()
        self.daemon.allow(ALL)
        self.daemon.open(BOUND_NS)
        self.daemon.wait_for_holds(lambda holds: holds.resident >= 250 * MIB)
        return tenant

    def run_a_while(self):
        self.daemon.open(BOUND_NS)
        time.sleep(RUN_S)
        self.daemon.close()

    def ends_well(self, tenant):
        self.daemon.open(BOUND_NS)
        while tenant.process.poll() is None and self.daemon.serve_idle():
            self.daemon.open(BOUND_NS)
        self.passes(tenant)

    def passes(self, tenant):
        self.assertEqual(tenant.process.wait(PATIENCE_S), 0, tenant)
        tenant.reader.join(PATIENCE_S)
        self.assertTrue(any("PASS" in line for line in tenant.lines), tenant)

    def test_out_and_in_again_and_again(self):
        tenant = self.begin("add", "--rewrite", "--iterations", str(ITERATIONS))
        self.daemon.close()
        for _ in range(8):
            held = self.daemon.swap_out()
            self.assertEqual(held.resident, 0)
            self.assertGreaterEqual(held.away, 250 * MIB)
            self.assertEqual(self.daemon.swap_in().away, 0)
            self.run_a_while()
        self.assertGreaterEqual(self.daemon.holds.copied_in, 2000 * MIB)
        self.ends_well(tenant)

    def test_only_what_must_go_goes(self):
        tenant = self.begin("add", "--rewrite", "--iterations", str(ITERATIONS))
        self.daemon.close()
        held = self.daemon.swap_out(keep=150 * MIB)
        self.assertGreater(held.resident, 80 * MIB)  # less than a chunk more than that must go
        self.daemon.swap_in()
        self.ends_well(tenant)

    def test_what_did_not_change_is_not_copied_again(self):
        tenant = self.begin("infer", "--iterations", str(ITERATIONS), "--status-fd", "1")
        tenant.wait_for_line('{"done":')  # its weights are written
        self.daemon.close()
        first = self.daemon.swap_out()
        self.daemon.swap_in()
        self.run_a_while()
        second = self.daemon.swap_out()
        self.assertGreaterEqual(first.copied_out, 128 * MIB)
        self.assertLessEqual(second.copied_out - first.copied_out, 64 * MIB)
        self.daemon.swap_in()
        self.ends_well(tenant)

    def test_a_new_word_in_the_middle(self):
        tenant = self.begin("add", "--rewrite", "--iterations", str(ITERATIONS))
        self.daemon.close()
        for keep in (200, 64, 130, 0, 256, 10, 100):
            self.daemon.allow(keep * MIB)
        self.daemon.swap_in()
        self.ends_well(tenant)

    def test_host_memory_goes_back_while_others_lack_it(self):
        tenant = self.begin("add", "--rewrite", "--iterations", str(ITERATIONS))
        self.daemon.close()
        self.daemon.swap_out()
        self.daemon.send("HostShort", is_short=1)
        self.daemon.swap_in()
        for _ in range(2):
            while len(self.daemon.given_back) < self.daemon.lent:
                self.daemon.expect("HostDone")
            self.assertEqual(len(set(self.daemon.given_back)), self.daemon.lent)
            self.run_a_while()
            held = self.daemon.swap_out()  # and now it lacks some itself
            self.assertGreaterEqual(held.host, 250 * MIB)
            self.assertEqual(self.daemon.swap_in().away, 0)
        self.daemon.send("HostShort", is_short=0)
        self.ends_well(tenant)

    def test_host_memory_that_cannot_be_mapped_goes_back(self):
        tenant = self.begin("add", "--rewrite", "--iterations", str(ITERATIONS))
        self.daemon.close()
        pid = tenant.process.pid
        status = Path(f"/proc/{pid}/status").read_text()
        size = int(re.search(r"VmSize:\s+(\d+) kB", status)[1]) << 10
        old = resource.prlimit(pid, resource.RLIMIT_AS, (size + 32 * MIB, resource.RLIM_INFINITY))
        self.daemon.allow(0)
        end = time.monotonic() + PATIENCE_S
        while not self.daemon.lent or len(self.daemon.given_back) < self.daemon.lent:
            self.assertLess(time.monotonic(), end, "it keeps what is of no use to it")
            self.daemon.expect()
        self.assertGreaterEqual(self.daemon.holds.resident, 250 * MIB, "it has no place to go to")
        resource.prlimit(pid, resource.RLIMIT_AS, old)
        self.assertEqual(self.daemon.swap_out().resident, 0)
        self.daemon.swap_in()
        self.ends_well(tenant)

    def test_what_was_kept_from_an_earlier_daemon_goes_back_too(self):
        # It does not stand still between the daemons.
        tenant = self.begin("add", "--rewrite", "--iterations", str(3 * ITERATIONS))
        self.daemon.close()
        self.daemon.swap_out()
        self.daemon.swap_in()
        lent = self.daemon.lent_bytes
        self.daemon.end()
        shutil.rmtree(self.folder)
        self.start_daemon()
        self.daemon.meet_again()
        self.assertEqual(self.daemon.expect("KeptHost").bytes, lent)
        self.daemon.expect("UseGpu")
        self.daemon.welcome_gpu()
        self.daemon.allow(ALL)
        self.daemon.open(BOUND_NS)
        self.daemon.close()  # so that it does not end meanwhile
        self.daemon.send("HostShort", is_short=1)
        while (left := self.daemon.expect("KeptHost").bytes) > 0:
            self.assertLess(left, lent)
            lent = left
        self.assertEqual(self.daemon.given_back, [], "the new one knows nothing of them")
        self.ends_well(tenant)

    def test_no_window_while_memory_is_away(self):
        """The daemon forgets what it was told; the client does not run on half of its memory."""
        tenant = self.begin("add", "--rewrite", "--iterations", str(ITERATIONS))
        self.daemon.close()
        self.daemon.swap_out()
        self.daemon.open(BOUND_NS)
        self.daemon.expect("Drained")
        self.assertGreaterEqual(self.daemon.holds.away, 250 * MIB)
        self.daemon.swap_in()
        self.ends_well(tenant)

    def test_who_says_that_all_is_there_takes_the_window(self):
        """Also if memory was about to leave when it was allowed to stay."""
        tenant = self.begin("add", "--rewrite", "--iterations", str(ITERATIONS))
        self.daemon.close()
        for _ in range(6):
            self.daemon.allow(0)
            self.daemon.swap_in()
            before = self.daemon.drains
            self.daemon.open(BOUND_NS)
            until = time.monotonic() + RUN_S
            self.daemon.serve_while(lambda until=until: time.monotonic() < until)
            self.assertEqual(self.daemon.drains, before)
            self.daemon.close()
        self.ends_well(tenant)

    def test_the_daemon_goes_while_memory_is_away(self):
        tenant = self.begin("add", "--rewrite", "--iterations", str(ITERATIONS))
        self.daemon.close()
        self.daemon.swap_out()
        self.daemon.end()
        self.passes(tenant)

    def test_the_next_daemon_does_not_serve_the_gpu(self):
        """And says so while memory is away, which comes slowly here."""
        self.machine["NVSHARE_SIM_TIME"] = "4"
        tenant = self.begin("add", "--rewrite", "--iterations", "20")
        self.daemon.close()
        self.daemon.swap_out()
        self.daemon.client.close()
        self.daemon.meet_again()
        self.daemon.expect("UseGpu")
        self.daemon.send("GpuKnown", ordinal=0, known=0)

        def has_ended():
            with contextlib.suppress(ConnectionError, struct.error):  # who ends says nothing
                self.daemon.serve()
            return tenant.process.poll() is not None

        self.wait_until(has_ended, "the end of", lambda: tenant)
        self.passes(tenant)


if __name__ == "__main__":
    unittest.main()
