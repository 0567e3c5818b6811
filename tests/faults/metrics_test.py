#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The metrics of programs at work: what they add up to, and that asking for them harms nobody.

usage: metrics_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import collections
import json
import math
import re
import socket
import unittest

from fault_case import FaultCase
from scrape import scrape
from tenant import PATIENCE_S

SLOW = 100
MIB = 1 << 20


class MetricsCase(FaultCase):
    daemon_options = ("--metrics", "127.0.0.1:0")

    def setUp(self):
        super().setUp()
        found = re.search(r'msg="metrics are served" port=(\d+)', self.log_text())
        self.port = int(found[1])

    def of(self, tenant, samples, name):
        labels = {"tenant": str(self.row_of(tenant)["id"])}
        return samples.value(f"nvshare_tenant_{name}", **labels)

    def wait_for_samples(self, condition, what):
        def look():
            samples = scrape(self.port)
            return samples if condition(samples) else None

        return self.wait_until(look, what)


class Sharing(MetricsCase):
    def test_of_two_who_share_a_gpu(self):
        first, second = self.worker(), self.worker()
        samples = self.wait_for_samples(
            lambda samples: (samples.value("nvshare_gpu_switches_total") or 0) >= 5
            and all(self.of(one, samples, "memory_bytes") for one in (first, second)),
            "some windows, and what they have, which they tell now and then",
        )
        self.assertEqual(samples.value("nvshare_tenants"), 2)
        self.assertEqual(samples.value("nvshare_clients"), 2)
        (gpu,) = self.status()["gpus"]
        (about, _), = samples.all("nvshare_gpu_info")
        self.assertEqual(about, {"gpu": gpu["uuid"], "index": "0", "name": gpu["name"]})
        held = samples.value("nvshare_gpu_held_seconds_total")
        used = [self.of(one, samples, "used_seconds_total") for one in (first, second)]
        self.assertGreater(min(used), 0)
        self.assertLess(max(used), held, "they take turns")
        self.check_never_falls(samples)
        self.finish(first, second)
        samples = self.wait_for_samples(
            lambda samples: samples.value("nvshare_tenants") == 0, "an empty node"
        )
        self.assertFalse(samples.all("nvshare_tenant_info"), "who has left has no series")
        self.assertGreaterEqual(samples.value("nvshare_gpu_held_seconds_total"), held)

    def check_never_falls(self, samples):
        """What is a counter, over some more windows."""
        for _ in range(4):
            switches = samples.value("nvshare_gpu_switches_total")
            newer = self.wait_for_samples(
                lambda newer: newer.value("nvshare_gpu_switches_total") > switches, "more windows"
            )
            for name, labels, value in samples.samples:
                if samples.types[name] == "counter":
                    self.assertGreaterEqual(newer.value(name, **labels), value, (name, labels))
            samples = newer

    def test_while_a_hundred_ask_slowly(self):
        first, second = self.worker(), self.worker()
        for number in range(SLOW):
            slow = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
            self.addCleanup(slow.close)
            slow.send((b"GET /metrics HT", b"GET /metrics HTTP/1.1\r\n\r\n")[number % 2])
        for one in (first, second):
            self.wait_for_windows(one)
        self.check_goes_on(first, second)
        self.assertEqual(scrape(self.port).value("nvshare_tenants"), 2)
        self.finish(first, second)


class Swapping(MetricsCase):
    scale = 32  # 464 MiB, some of which contexts take
    time = 0.02
    daemon_options = (
        *("--metrics", "127.0.0.1:0", "--turn", "100ms"),
        *("--gpu-memory", "400MiB", "--host-memory", "640MiB"),
    )

    def moved(self, samples, direction):
        return samples.value("nvshare_gpu_swap_bytes_total", direction=direction) or 0

    def test_of_two_who_do_not_fit_together(self):
        tenants = [self.tenant("holder", 47, 6), self.tenant("holder", 28, 5)]
        samples = self.wait_for_samples(
            lambda samples: self.moved(samples, "out") > 800 * MIB
            and self.moved(samples, "in") > 800 * MIB,
            "memory that goes and comes",
        )
        self.assertEqual(samples.value("nvshare_gpu_memory_size_bytes"), 400 * MIB)
        self.assertGreater(samples.value("nvshare_host_memory_lent_bytes"), 0)
        for one in tenants:
            parts = ("resident", "swapped", "fixed")
            bytes_of = [self.of(one, samples, f"memory_{part}_bytes") for part in parts]
            self.assertEqual(sum(bytes_of), self.of(one, samples, "memory_bytes"))
        self.check_table()
        names = {f"fault_tenant ({self.row_of(one)['id']})" for one in tenants}
        self.finish(*tenants)
        samples = self.wait_for_samples(
            lambda samples: samples.value("nvshare_tenants") == 0, "an empty node"
        )
        self.check_trace(names, samples)

    def check_table(self):
        """What swaps cost is beside where the memory is, of both."""
        tables = {}
        for text in self.nvsharectl("status").split("\n\n"):
            titles, *rows = [line.split() for line in text.splitlines()]
            tables[titles[-1]] = [dict(zip(titles, row)) for row in rows]
        self.assertEqual(len(tables["HOST"]), 2)
        for row in tables["HOST"]:
            self.assertLessEqual({"RESIDENT", "CLEAN", "SWAPPED", "FIXED"}, set(row))
        costs = [row["SWAP-IDLE"] for row in tables["SWAP-IDLE"]]
        costs += [row["SWAP-WAIT"] for row in tables["COPIED-IN"]]
        self.assertEqual(len(costs), 3)
        self.assertNotIn("0", costs)

    def check_trace(self, names, samples):
        """The timeline of tenants that have left has each swap, and where their memory was."""
        seconds = str(math.ceil(self.status()["uptime_s"]))
        trace = json.loads(self.nvsharectl("trace", "-o", "-", "--seconds", seconds))
        moved = collections.Counter()
        levels = collections.defaultdict(list)
        for event in trace["traceEvents"]:
            if event["ph"] == "C":
                levels[event["name"]].append(event["args"]["bytes"])
            elif event["name"].startswith("moving "):
                moved[event["name"]] += event["args"]["bytes"]
        for way in ("out", "in"):
            self.assertEqual(moved[f"moving {way}"], self.moved(samples, way), "all are there")
        counters = ("resident", "swapped", "clean", "fixed")
        self.assertEqual(set(levels), {f"{name} {what}" for name in names for what in counters})
        for name in names:
            self.assertGreater(max(levels[f"{name} resident"]), 0)
            self.assertLessEqual(max(levels[f"{name} resident"]), 400 * MIB)
            self.assertGreater(max(levels[f"{name} swapped"]), 0)
        self.assertEqual({values[-1] for values in levels.values()}, {0}, "they have left")


if __name__ == "__main__":
    unittest.main()
