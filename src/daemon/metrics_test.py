#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon's metrics, asked for as Prometheus does, and by those who mean no good.

usage: metrics_test.py NVSHARE_SCHEDULER [UNITTEST_ARGUMENT...]
"""

import contextlib
import pathlib
import re
import socket
import time
import unittest

from daemon_case import GPU, Daemon, DaemonCase
from hand_overs import HandOvers
from pods_case import SLOT, UID, PodsCase
from scrape import get, scrape
from wire_client import PATIENCE_S, Client

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/metrics.md"
UUID = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10"
SLOW = 100
HAND_OVERS = 200


class MetricsCase(DaemonCase):
    def start_and_find_port(self, *arguments, at="127.0.0.1:0", start=None):
        (start or self.start)("--metrics", at, *arguments)
        (line,) = [one for one in self.daemon.log if "metrics are served" in one]
        self.port = int(re.search(r"port=(\d+)", line)[1])

    def wait_for_samples(self, condition):
        """The first ones of which it is true: they are made anew once a second."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition(samples := scrape(self.port)):
            self.assertLess(time.monotonic(), deadline, samples.samples)
            time.sleep(0.02)
        return samples


class Metrics(MetricsCase):
    def test_they_are_those_of_the_document(self):
        self.start_and_find_port()
        self.tenant(1, core_limit=b"30", memory_limit=b"1Gi").want()
        samples = self.wait_for_samples(
            lambda samples: samples.all("nvshare_tenant_memory_limit_bytes")
        )
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \|", DOCUMENT.read_text("utf-8"), re.M)
        self.assertEqual({name: kind for name, kind, _ in rows}, samples.types)
        labels = {name: set(re.findall(r"`(\w+)`", text)) for name, _, text in rows}
        for name, own, _ in samples.samples:
            self.assertEqual(set(own), labels[name], name)

    def test_they_are_what_status_says(self):
        self.start_and_find_port("--host-memory", "64MiB")
        first, second = self.tenant(1, program=b'a "b"\\\xff'), self.tenant(2, program=b"other")
        first.want()
        grant = first.expect_open()
        second.want()
        first.expect_close(grant)
        first.drained(grant)
        second.expect_open()
        samples = self.wait_for_samples(
            lambda samples: samples.value("nvshare_gpu_switches_total", gpu=UUID) == 2
        )
        status = self.ask(command="status")
        self.assertEqual(samples.value("nvshare_clients"), 2)
        self.assertEqual(samples.value("nvshare_build_info", version=status["version"]), 1)
        self.assertEqual(samples.value("nvshare_host_memory_capacity_bytes"), 64 << 20)
        self.assertIsNone(samples.value("nvshare_pod_watch_connected"), "nobody watches")
        program = 'a "b"\\\ufffd'
        (tenant,) = [one for one in status["tenants"] if one["program"] == program]
        (on,) = tenant["gpus"]
        about = {"tenant": str(tenant["id"]), "gpu": UUID, "pod": "", "program": program}
        used = samples.value("nvshare_tenant_used_seconds_total", **about)
        self.assertEqual(used, on["used_s"], "it has not run since")
        self.assertEqual(samples.value("nvshare_tenant_windows_total", **about), on["windows"])
        first.close()
        self.wait_for_samples(
            lambda samples: not samples.all("nvshare_tenant_info", tenant=about["tenant"])
        )

    def test_other_paths_and_methods(self):
        self.start_and_find_port()
        self.assertEqual(get(self.port, "/healthz")[::2], (200, b"ok\n"))
        status, headers, body = get(self.port, "/metrics", method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 1000)
        self.assertEqual(get(self.port, "/")[0], 404)
        status, headers, _ = get(self.port, "/metrics", method="DELETE")
        self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))
        self.assertEqual(get(self.port, "/" + "x" * 9000)[0], 431)

    def test_at_every_address(self):
        self.start_and_find_port(at=":0")
        self.assertEqual(get(self.port, "/healthz")[0], 200)
        if pathlib.Path("/proc/net/if_inet6").exists():
            self.assertEqual(get(self.port, "/healthz", host="::1")[0], 200)

    def test_nobody_listens_unasked(self):
        daemon = self.start()
        self.assertFalse([line for line in daemon.log if "metrics" in line])


class Failures(MetricsCase):
    def test_a_port_that_is_in_use_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            daemon = Daemon(self.folder, "--metrics", f"127.0.0.1:{port}")
            self.addCleanup(self.clean, daemon)
            self.assertEqual(daemon.wait(), 1)
        for words in ("level=error", f"metrics at port {port}", "already in use", "--metrics"):
            self.assertIn(words, daemon.log[-1])

    def test_a_port_is_free_again_at_once(self):
        self.start_and_find_port()
        scrape(self.port)
        silent = socket.create_connection(("127.0.0.1", self.port))
        self.addCleanup(silent.close)
        self.assertEqual(self.daemon.end(), 0)
        self.start_and_find_port(at=f"127.0.0.1:{self.port}")
        scrape(self.port)

    def test_what_is_no_address_is_told(self):
        for words in ("9402", "localhost:9402", "127.0.0.1:99999", "::1:9402"):
            daemon = Daemon(self.folder, "--metrics", words)
            self.addCleanup(self.clean, daemon)
            self.assertEqual(daemon.wait(), 2)
            self.assertIn("--metrics is an address and a port such as", daemon.log[-1])
            self.assertIn(f"not '{words}'", daemon.log[-1])


class Slowness(MetricsCase):
    """Tenants take turns while others ask slowly; they would have none if the daemon waited."""

    def setUp(self):
        super().setUp()
        self.start_and_find_port("--window", "1ms")

    def connect_slowly(self, *said):
        for number in range(SLOW):
            slow = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
            self.addCleanup(slow.close)
            # The daemon may have closed it already to make room for the next.
            with contextlib.suppress(OSError):
                slow.sendall(said[number % len(said)])

    def check_all_goes_on(self):
        hand_overs = HandOvers(self.folder, GPU)
        self.addCleanup(hand_overs.end)
        hand_overs.go(HAND_OVERS)
        status = self.ask(command="status")
        self.assertGreaterEqual(status["gpus"][0]["switches"], HAND_OVERS)
        self.wait_for_samples(
            lambda samples: (samples.value("nvshare_gpu_switches_total") or 0) >= HAND_OVERS
        )
        self.assertLess(self.files(), SLOW, "most connections are closed")

    def test_of_those_who_never_finish_asking(self):
        self.connect_slowly(b"", b"G", b"GET /metrics HTTP/1.1\r\nHost: a\r\n", b"\r\n")
        self.check_all_goes_on()

    def test_of_those_who_ask_and_never_read(self):
        self.connect_slowly(b"GET /metrics HTTP/1.1\r\n\r\n" * 10)
        self.check_all_goes_on()

    def test_of_those_who_send_much(self):
        self.connect_slowly(b"x" * 4000, b"POST /metrics HTTP/1.1\r\n\r\n" + b"x" * 60_000)
        self.check_all_goes_on()


class Pods(MetricsCase, PodsCase):
    def begin_to_work(self):
        self.client = Client(self.folder)  # held until the process ends
        self.client.join(0, program=b"train.py", slot=SLOT.encode())
        self.client.use(GPU)
        self.client.want()

    def test_a_bad_annotation_is_counted(self):
        self.server.start()
        self.server.put("train", uid=UID, gpu_core_limit="30")
        self.start_and_find_port(start=self.start_in_cluster)
        self.give_slot()
        self.in_pod(self.begin_to_work)
        about = {"pod": "train", "namespace": "lab", "container": "main", "program": "train.py"}
        samples = self.wait_for_samples(
            lambda samples: samples.value("nvshare_tenant_cap_ratio", **about) == 0.3
        )
        self.assertEqual(samples.value("nvshare_bad_annotations_total"), 0)
        self.assertEqual(samples.value("nvshare_pod_watch_connected"), 1)
        self.assertEqual(samples.value("nvshare_tenant_info", standing="verified", **about), 1)
        self.assertEqual(samples.value("nvshare_tenant_limit_errors", **about), 0)
        self.server.put("train", gpu_core_limit="a lot")
        samples = self.wait_for_samples(
            lambda samples: samples.value("nvshare_bad_annotations_total") == 1
        )
        self.assertEqual(samples.value("nvshare_tenant_limit_errors", **about), 1)
        self.assertEqual(samples.value("nvshare_tenant_cap_ratio", **about), 0.3, "it stays")
        self.server.put("train", gpu_core_limit="40")
        samples = self.wait_for_samples(
            lambda samples: samples.value("nvshare_tenant_cap_ratio", **about) == 0.4
        )
        self.assertEqual(samples.value("nvshare_bad_annotations_total"), 1, "it never falls")
        self.assertEqual(samples.value("nvshare_tenant_limit_errors", **about), 0)

    def test_a_server_that_goes_is_seen(self):
        self.server.start()
        self.start_and_find_port(start=self.start_in_cluster)
        self.wait_for_samples(lambda samples: samples.value("nvshare_pod_watch_connected") == 1)
        self.server.stop()
        samples = self.wait_for_samples(
            lambda samples: samples.value("nvshare_pod_watch_connected") == 0
            and samples.value("nvshare_pod_watch_reconnects_total", reason="connect") > 0
        )
        self.assertEqual(samples.value("nvshare_pod_watch_reconnects_total", reason="tls"), 0)


if __name__ == "__main__":
    unittest.main()
