#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A watch and an API server with certificates: whom it believes, and whom it does not.

usage: tls_test.py KUBE_WATCH_PRINT [UNITTEST_ARGUMENT...]
"""

import pathlib
import socket
import tempfile
import unittest

import watch_case
from authority import Authority
from watch_case import FakeApiServer, WatchCase


class Certificates(WatchCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.first = Authority(pathlib.Path(folder.name), "first")
        cls.second = Authority(pathlib.Path(folder.name), "second")

    def setUp(self):
        super().setUp()
        self.write("token", "good")
        self.server.tokens = {"good"}

    def believe(self, *authorities):
        self.write("ca.crt", "".join(one.certificate.read_text("ascii") for one in authorities))

    def watch_server(self, address="127.0.0.1"):
        self.server.start()
        variables = {
            "KUBERNETES_SERVICE_HOST": address,
            "KUBERNETES_SERVICE_PORT": str(self.server.port),
            "NODE_NAME": self.server.node,
        }
        return self.watch("--folder", str(self.folder), variables=variables)

    def check_it_works(self, watch):
        self.server.put("a")
        watch.wait_for("added lab/a uid-a")
        watch.wait_for_health("reachable listed")

    def test_a_server_of_our_cluster(self):
        self.believe(self.first)
        self.server.tls = self.first.server("IP:127.0.0.1")
        watch = self.watch_server()
        self.check_it_works(watch)
        self.assertEqual({one["token"] for one in self.server.requests}, {"good"})

    @unittest.skipUnless(socket.has_ipv6, "this machine has no IPv6")
    def test_a_server_with_an_address_of_ipv6(self):
        try:
            self.server = FakeApiServer(address="::1")
            self.server.tokens = {"good"}
            self.believe(self.first)
            self.server.tls = self.first.server("IP:::1")
            watch = self.watch_server("::1")
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")
        self.check_it_works(watch)

    def test_a_stranger_learns_nothing(self):
        for host, authority in (("IP:127.0.0.1", self.second), ("DNS:elsewhere", self.first)):
            with self.subTest(host=host):
                self.server.stop()
                self.server = FakeApiServer()
                self.believe(self.first)
                self.server.tls = authority.server(host)
                watch = self.watch_server()
                watch.wait_for_count("tls", 3)
                self.assertEqual(self.server.requests, [])

    # Section 5.2: clusters change their CA, and the kubelet the file.
    def test_a_ca_that_changes(self):
        self.believe(self.first)
        self.server.tls = self.first.server("IP:127.0.0.1")
        watch = self.watch_server()
        self.check_it_works(watch)
        self.server.stop()
        self.server.tls = self.second.server("IP:127.0.0.1")
        self.server.start()
        watch.wait_for_count("tls", 2)
        self.believe(self.first, self.second)
        self.server.put("b")
        watch.wait_for("added lab/b uid-b")
        watch.wait_for_health("reachable listed")

    def test_a_file_that_is_no_certificate(self):
        self.write("ca.crt", "nothing of the kind\n")
        self.server.tls = self.first.server("IP:127.0.0.1")
        watch = self.watch_server()
        watch.wait_for_count("tls", 2)
        self.believe(self.first)
        self.check_it_works(watch)

    def test_a_server_that_hangs_before_it_is_known(self):
        self.believe(self.first)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.server.port = silent.getsockname()[1]
            variables = {
                "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "KUBERNETES_SERVICE_PORT": str(self.server.port),
                "NODE_NAME": "node-1",
            }
            watch = self.watch("--folder", str(self.folder), variables=variables)
            with silent.accept()[0] as connection:
                self.assertNotEqual(connection.recv(1), b"")
                self.assertEqual(watch.end(), 0)


if __name__ == "__main__":
    watch_case.main()
