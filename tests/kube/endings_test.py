#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A watch and an API server that dies, or says no more, in the middle of each call.

usage: endings_test.py KUBE_WATCH_PRINT [UNITTEST_ARGUMENT...]
"""

import pathlib
import tempfile

import watch_case
from authority import Authority
from watch_case import FakeApiServer, WatchCase

# Section 5.1: what a server refuses with.
REFUSALS = (401, 403, 410, 429, 500, 503)


class Deaths(WatchCase):
    def setUp(self):
        super().setUp()
        self.server.start()

    def watch_server(self, **times):
        return self.watch(**times)

    def test_death_in_the_middle_of_a_list(self):
        for number, fault in enumerate(
            [{"cut": 0}, {"cut": 9}, {"cut": 40}, {"cut_body": 0}, {"cut_body": 30}]
        ):
            with self.subTest(**fault):
                self.server.put(f"p-{number}")
                self.server.fault(kind="list", **fault)
                watch = self.watch_server()
                watch.wait_for_health("reachable listed cut=1")
                self.assertEqual(len(watch.changes()), number + 1)

    def test_death_in_the_middle_of_a_page(self):
        for i in range(600):
            self.server.put(f"p-{i:04}")
        self.server.fault(kind="list")
        gone = {"before": lambda: self.server.delete("p-0000")}
        self.server.fault(kind="list", cut_body=5000, **gone)
        watch = self.watch_server()
        watch.wait_for_health("reachable listed cut=1")
        self.assertEqual(len(watch.changes()), 599, "what the first page had is not believed")
        self.assertEqual(self.server.count("list"), 4)

    def test_death_in_the_middle_of_a_watch(self):
        for number, fault in enumerate(
            [{"cut": 0}, {"cut": 9}, {"cut_body": 0}, {"cut_body": 3}, {"cut_body": 30}]
            + [{"cut_body": 290}, {"cut_body": 400}]
        ):
            with self.subTest(**fault):
                lists = self.server.count("list")
                watches = self.server.count("watch")
                self.server.fault(kind="watch", **fault)
                watch = self.watch_server()
                self.server.wait_for("watch", watches + 1)
                for part in "abcd":
                    self.server.put(f"{part}-{number}")
                watch.wait_for(f"lab/d-{number}")
                self.assertEqual(len(watch.changes()), 4 * (number + 1), "none twice, none lost")
                watch.wait_for_health("reachable listed cut=1")
                self.assertEqual(self.server.count("list"), lists + 1, "it goes on where it was")
                self.assertEqual(watch.end(), 0)

    def test_death_in_the_middle_of_a_refusal(self):
        for kind in ("list", "watch"):
            for status in REFUSALS:
                for fault in ({"cut": 30}, {"cut_body": 0}, {"cut_body": 20}):
                    self.server.fault(kind=kind, status=status, **fault)
        watch = self.watch_server(backoff=20)
        self.server.wait(lambda: not self.server.faults, "all refusals are told")
        self.server.put("late")
        self.expect(watch, "added lab/late uid-late")
        watch.wait_for_health("reachable listed")
        watch.wait_for_count("cut", 2 * len(REFUSALS))

    def test_death_after_a_bookmark(self):
        bookmark = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"101"}}}\n'
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        raw = head + b"%x\r\n%s\r\n" % (len(bookmark), bookmark)
        elsewhere = {"name": "elsewhere", "node": "node-2"}
        self.server.fault(kind="watch", raw=raw, before=lambda: self.server.put(**elsewhere))
        watch = self.watch_server()
        watch.wait_for_health("reachable listed cut=1")
        self.server.wait_for("watch", 2)
        versions = [one["query"].get("resourceVersion") for one in self.server.requests]
        self.assertEqual(versions, [None, "100", "101"])
        self.server.put("late")
        self.expect(watch, "added lab/late uid-late")


class DeathsWithCertificates(Deaths):
    """The same, of a connection whose end nobody can feign."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.authority = Authority(pathlib.Path(folder.name), "ours")

    def setUp(self):
        super().setUp()
        self.write("token", "good")
        self.write("ca.crt", self.authority.certificate.read_text("ascii"))
        self.server.tls = self.authority.server("IP:127.0.0.1")

    def watch_server(self, **times):
        variables = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.server.port),
            "NODE_NAME": self.server.node,
        }
        return self.watch("--folder", str(self.folder), variables=variables, **times)

    def test_before_it_is_known_who_it_is(self):
        for stays in (False, True):
            with self.subTest(stays=stays):
                good, count = self.server.tls, self.server.count("watch")
                self.server.tls = DyingContext(good, 3, stays)
                watch = self.watch_server(silence=1000)
                self.server.wait_for("watch", count + 1)
                self.assertEqual(self.server.tls.left, 0)
                watch.wait_for_health("reachable listed")
                self.assertEqual(watch.end(), 0)
                self.server.tls = good


class DyingContext:
    """Of a server that reads what a client says of itself, and then dies, so often."""

    def __init__(self, good, times, stays):
        self.good, self.left, self.stays = good, times, stays

    def wrap_socket(self, plain, server_side):
        if self.left == 0:
            return self.good.wrap_socket(plain, server_side=server_side)
        self.left -= 1
        while plain.recv(4096) and self.stays:
            pass
        raise ConnectionError


class Silences(WatchCase):
    def setUp(self):
        super().setUp()
        self.server.start()

    def replace_server(self):
        """The last request of a watch that has ended is not to be met with the next fault."""
        self.stop_server()
        self.server = FakeApiServer().start()

    def test_in_the_middle_of_a_list(self):
        for fault in ({"cut": 9}, {"cut_body": 0}, {"cut_body": 30}):
            with self.subTest(**fault):
                self.replace_server()
                self.server.put("a")
                self.server.fault(kind="list", stays=True, **fault)
                watch = self.watch(silence=1000)
                watch.wait_for("warning: the API server is silent")
                self.expect(watch, "added lab/a uid-a")
                self.assertEqual(watch.end(), 0)

    def test_in_the_middle_of_a_page(self):
        for i in range(600):
            self.server.put(f"p-{i:04}")
        self.server.fault(kind="list")
        self.server.fault(kind="list", cut_body=5000, stays=True)
        watch = self.watch(silence=2000)
        watch.wait_for_count("timeout", 1)
        watch.wait_for_health("reachable listed")
        self.assertEqual(len(watch.changes()), 600)
        self.assertGreaterEqual(self.server.count("list"), 4)

    def test_in_the_middle_of_a_watch(self):
        for fault in ({"cut": 9}, {"cut_body": 0}, {"cut_body": 30}):
            with self.subTest(**fault):
                self.replace_server()
                self.server.timeouts = range(1, 2)
                self.server.fault(kind="watch", stays=True, **fault)
                watch = self.watch(watch=1000, margin=1000, silence=1000)
                self.server.wait_for("watch", 1)
                self.server.put("a")
                self.expect(watch, "added lab/a uid-a")
                watch.wait_for_count("timeout", 1)
                self.assertGreaterEqual(self.server.count("list"), 2, "in doubt, all anew")
                self.assertEqual(watch.end(), 0)


if __name__ == "__main__":
    watch_case.main()
