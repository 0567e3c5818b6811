#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that leaves and comes back a thousand times: data stays right, and nothing grows.

The thousand are those of a scripted daemon, as fast as it goes. Turns of the real one last a tenth
of a second at least; so there are fewer of them, unless NVSHARE_SOAK says how many. A thousand take
some minutes:

    NVSHARE_SOAK=1000 python3 tests/faults/soak_test.py build Both

usage: soak_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import collections
import os
import pathlib
import sys
import time
import unittest

from exchange import LIBRARY, ExchangeCase
from fault_case import FaultCase
from swap_daemon import ALL, ScriptedDaemon

SWITCHES = 1000
WARM = 20  # until everything has been made that is made once
REAL_EXCHANGES = int(os.environ.get("NVSHARE_SOAK", "24"))
REAL_WARM = 6
PIECE = 9 << 20
# What each of the two has, who do not fit together: some changes in each turn, some was written
# once or never, and of zeros nothing is kept; and there is an arena for small pieces.
CHANGING, UNCHANGED, KEPT = 2 * PIECE, 3 * PIECE, 4 * PIECE + (2 << 20)
RUN_S = 0.002


def resources(pid):
    """What could grow in a process."""
    files = len(os.listdir(f"/proc/{pid}/fd"))
    mappings = len(pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines())
    threads = len(os.listdir(f"/proc/{pid}/task"))
    status = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    kib = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
    return {"files": files, "mappings": mappings, "threads": threads, "KiB": kib}


# Mappings of others, such as the simulator's and those of malloc, come and go a little, and so do
# pages of stacks.
SLACK = {"mappings": 8, "KiB": 256}
DAEMON_SLACK = {"KiB": 1024}  # its timelines get longer, up to a limit


def growth(before, after, slack):
    return [
        f"{what}: {before[what]} before, {count} after"
        for what, count in after.items()
        if count > before[what] + slack.get(what, 0)
    ]


class Client(ScriptedDaemon, FaultCase):
    scale = 256
    time = 0.01

    def switch(self):
        gone = self.daemon.swap_out()
        self.assertEqual(gone.resident, 0)
        back = self.daemon.swap_in()
        self.daemon.open()
        time.sleep(RUN_S)
        self.daemon.close()
        return gone, back

    def test_a_thousand_switches(self):
        tenant = self.tenant("mixed", 2, 2)
        self.daemon.greet()
        self.daemon.allow(ALL)
        self.daemon.open()
        tenant.wait_for_progress()
        self.daemon.close()
        for _ in range(WARM):
            gone, back = self.switch()
        before = resources(tenant.pid)
        lent = self.daemon.lent
        for _ in range(SWITCHES - WARM):
            last_gone, last_back = self.switch()
        self.assertEqual(growth(before, resources(tenant.pid), SLACK), [])
        self.assertEqual(self.daemon.lent, lent)
        self.assertEqual(last_gone.away, gone.away)
        self.assertEqual(last_gone.host, gone.host)
        self.assertEqual(last_back.resident, back.resident)
        self.assertGreater(last_back.copied_out, back.copied_out, "something changed each time")
        self.daemon.open()
        tenant.say("stop")
        while tenant.process.poll() is None and self.daemon.serve_idle():
            self.daemon.open()
        tenant.check_ok()


class Exchanges:
    """Of one tenant, as they are seen: all its memory was in and has changed, and then all that
    changes is out."""

    def __init__(self, tenant, on):
        self.tenant = tenant
        self.seen = self.copied = self.idle = 0
        self.memory = on["memory_bytes"]
        self.copied_before = on["copied_out_bytes"]
        self.rounds = None  # when all of it was first seen to be in; None: it has not been since

    def look(self, on):
        """What is wrong with it; empty: nothing."""
        if on["memory_bytes"] != self.memory or on["resident_bytes"] > self.memory:
            return f"{self.memory} bytes of memory have become more: {on}"
        if on["host_bytes"] > KEPT:
            return f"more than {KEPT} bytes in host memory: {on}"
        if on["swapped_bytes"] == 0 and self.rounds is None:
            self.rounds = self.tenant.progress()
        elif on["swapped_bytes"] >= UNCHANGED + CHANGING and self.rounds is not None:
            return self.count(on["copied_out_bytes"])
        return ""

    def count(self, copied_out):
        copied = copied_out - self.copied_before
        rounds = self.tenant.progress() - self.rounds
        self.rounds = None
        self.copied_before = copied_out
        self.copied += copied
        if copied >= CHANGING:
            self.seen += 1
        else:
            self.idle += 1  # it has not run meanwhile, or not long enough
        if copied < CHANGING and rounds > 1:
            return f"{copied} bytes copied after {rounds} rounds, which change {CHANGING}"
        return ""


class Both(ExchangeCase):
    """Two that change their data in each turn."""

    def books(self, *tenants):
        """What the daemon keeps for them, and what they have of the system."""
        counts = {"held": self.status()["host_memory"]["held_bytes"]}
        for name, process in (("daemon", self.daemon), *enumerate(tenants)):
            for what, count in resources(process.pid).items():
                counts[f"{name} {what}"] = count
        return counts

    def wait_for_exchanges(self, tenants, count):
        """Of both together; what was seen of each."""
        seen = [Exchanges(tenant, self.on_gpu(tenant)) for tenant in tenants]

        def are_enough():
            for one, tenant in zip(seen, tenants):
                self.assertEqual(one.look(self.on_gpu(tenant)), "")
            return sum(one.seen for one in seen) >= wanted

        for wanted in range(1, count + 1):
            self.wait_until(are_enough, f"exchange {wanted}", self.status)
        return seen

    def test_exchanges(self):
        tenants = [self.tenant("mixed", PIECE >> 20, CHANGING // PIECE) for _ in range(2)]
        for tenant in tenants:
            tenant.wait_for_line("ready")
            has_all = lambda: self.on_gpu(tenant)["memory_bytes"] >= CHANGING + UNCHANGED
            self.wait_until(has_all, "the daemon to know of all")
        self.wait_for_exchanges(tenants, REAL_WARM)
        before = self.books(*tenants)
        rounds = [tenant.progress() for tenant in tenants]
        for i, seen in enumerate(self.wait_for_exchanges(tenants, REAL_EXCHANGES)):
            figures = f"{seen.seen} exchanges of {seen.copied >> 20} MiB, {seen.idle} for nothing"
            print(figures, file=sys.stderr)
            self.assertGreaterEqual(seen.seen, REAL_EXCHANGES // 3, "they take turns")
            self.assertGreaterEqual(tenants[i].progress() - rounds[i], seen.seen - 1)
        slack = {f"daemon {what}": count for what, count in DAEMON_SLACK.items()}
        slack |= {f"{i} {what}": count for i in (0, 1) for what, count in SLACK.items()}
        grown = []

        # The daemon may still have the connection of the last question open.
        def is_as_before():
            grown[:] = growth(before, self.books(*tenants), slack)
            return not grown

        self.wait_until(is_as_before, "the books as they were:", lambda: grown)
        self.finish(*tenants)


class Retained(ExchangeCase):
    """One that retains and releases its primary context all the time, and never ends it."""

    MAKES = ("cuStreamCreate", "cuEventCreate", "cuModuleLoadData", "cuMemHostAlloc", "cuMemAlloc")

    def made(self, calls):
        """What the library's threads have made of the driver's things, in all."""
        lines = calls.read_text().splitlines()
        ours = (line.removeprefix(f"{LIBRARY} ") for line in lines if line.startswith(LIBRARY))
        return collections.Counter(name for name in ours if name.startswith(self.MAKES))

    def wait_for_copies(self, tenant, count):
        """Times that something of it was seen to have left since the last time."""
        for number in range(count):
            before = self.on_gpu(tenant)["copied_out_bytes"]
            has_left = lambda: self.on_gpu(tenant)["copied_out_bytes"] > before
            self.wait_until(has_left, f"copy {number}", lambda: self.on_gpu(tenant))

    def test_exchanges(self):
        calls = self.folder.parent / "calls"
        tenant = self.tenant("retainer", 20, NVSHARE_SIM_CALLS_FILE=str(calls))
        tenant.wait_for_progress(1)
        other = self.innocent()
        self.wait_for_copies(tenant, 2)
        before = self.made(calls)
        self.assertGreater(before["cuStreamCreate"], 0)
        self.wait_for_copies(tenant, 10)
        self.assertEqual(self.made(calls), before)
        self.check_goes_on(tenant, other)
        self.finish(tenant, other)


if __name__ == "__main__":
    unittest.main()
