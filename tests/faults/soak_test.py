#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that leaves and comes back a thousand times: data stays right, and nothing grows.

The thousand are those of a scripted daemon, as fast as it goes. Turns of the real one last a tenth
of a second at least; so there are fewer of them, unless NVSHARE_SOAK says how many.

usage: soak_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import os
import pathlib
import time
import unittest

from exchange import ExchangeCase
from fault_case import FaultCase
from swap_daemon import ALL, ScriptedDaemon

SWITCHES = 1000
WARM = 20  # until everything has been made that is made once
REAL_SWITCHES = int(os.environ.get("NVSHARE_SOAK", "40"))
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


class Both(ExchangeCase):
    def books(self, *tenants):
        """What the daemon keeps for them."""
        host = self.status()["host_memory"]
        counts = {"held": host["held_bytes"]}
        for name, process in (("daemon", self.daemon), *enumerate(tenants)):
            for what, count in resources(process.pid).items():
                counts[f"{name} {what}"] = count
        for name, tenant in enumerate(tenants):
            on = self.on_gpu(tenant)
            counts[f"{name} memory"] = on["memory_bytes"]
            self.assertLessEqual(on["host_bytes"], on["memory_bytes"])
        return counts

    def wait_for_turns(self, tenants, count):
        for _ in range(count // 2):
            for tenant in tenants:
                self.wait_for_windows(tenant, 1)

    def test_turns(self):
        tenants = [self.innocent(), self.victim()]
        for tenant in tenants:
            self.wait_for_exchange(tenant)
        self.wait_for_turns(tenants, 6)
        before = self.books(*tenants)
        self.wait_for_turns(tenants, REAL_SWITCHES)
        slack = {f"daemon {what}": count for what, count in DAEMON_SLACK.items()}
        slack |= {f"{i} {what}": count for i in (0, 1) for what, count in SLACK.items()}
        grown = []

        # The daemon may still have the connection of the last question open.
        def is_as_before():
            grown[:] = growth(before, self.books(*tenants), slack)
            return not grown

        self.wait_until(is_as_before, "the books as they were:", lambda: grown)
        self.finish(*tenants)


if __name__ == "__main__":
    unittest.main()
