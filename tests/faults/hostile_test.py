#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that lie, flood and do not listen, beside two tenants that work.

usage: hostile_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import contextlib
import socket
import unittest

import daemon_modules  # noqa: F401
from fault_case import FaultCase
from wire_client import VERSION, Client, encode

CLOSED = (BrokenPipeError, ConnectionResetError)


class Hostile(FaultCase):
    def setUp(self):
        super().setUp()
        self.tenants = [self.worker(), self.worker()]
        uuid = self.status()["gpus"][0]["uuid"]
        self.gpu = bytes.fromhex(uuid.removeprefix("GPU-").replace("-", ""))

    def connect(self, run=0, wants=False):
        """Run 0: it has said nothing yet."""
        client = Client(self.folder)
        self.addCleanup(client.close)
        if run:
            client.join(run, program=b"hostile")
            client.use(self.gpu)
        if wants:
            client.want()
            while client.receive().name != "Open":  # GetReady may come first
                pass
        return client

    def check_others(self):
        self.check_goes_on(*self.tenants)
        for tenant in self.tenants:
            self.wait_for_windows(tenant)
        self.wait_until(
            lambda: len(self.status()["tenants"]) == 2, "two tenants", lambda: self.status()
        )

    def finish_all(self):
        self.check_others()
        self.finish(*self.tenants)

    def check_is_closed(self, client):
        while client.receive() is not None:
            pass

    def test_garbage(self):
        packets = (b"\xff" * 40, b"\x01", b"\0" * 4000, encode("Welcome"), encode("Want"))
        for packet in packets:
            client = self.connect()
            client.send_bytes(packet)
            self.check_is_closed(client)
        self.finish_all()

    def test_garbage_in_its_window(self):
        for packet in (encode("Drained", waiting=2), encode("Want", ordinal=29), b"\xff" * 16):
            client = self.connect(run=1, wants=True)
            client.send_bytes(packet)
            self.check_is_closed(client)
            self.check_others()
        self.finish_all()

    def test_half_a_message(self):
        client = self.connect()
        client.send_bytes(encode("Hello", run=1)[:100])
        self.check_is_closed(client)
        client = self.connect(run=1, wants=True)
        client.send_bytes(encode("Idle")[:-3])
        self.check_is_closed(client)
        self.finish_all()

    def test_a_wrong_version(self):
        client = self.connect()
        client.send_bytes(encode("Hello", version=VERSION + 7, run=1))
        self.check_is_closed(client)
        self.finish_all()

    def test_ten_thousand_messages_a_second(self):
        client = self.connect(run=1, wants=True)
        client.socket.setblocking(True)
        with self.assertRaises(CLOSED):
            for number in range(500_000):  # the daemon ends it long before
                client.send("Ping", number=number)
                self.read_what_is_there(client)
        self.finish_all()

    def read_what_is_there(self, client):
        """Whoever waited for an answer to each message would send as few as the machine is slow."""
        with contextlib.suppress(BlockingIOError):
            while client.socket.recv(4096, socket.MSG_DONTWAIT):
                pass

    def test_grants_that_it_does_not_have(self):
        client = self.connect(run=1)
        for grant in range(1, 20):
            client.drained(grant)
            client.send("Refused", grant=grant)
            client.send("Stalled", grant=grant)
        self.check_others_beside(client)
        client.close()
        self.finish_all()

    def check_others_beside(self, client):
        """They go on while the hostile one is still there."""
        self.check_goes_on(*self.tenants)
        for tenant in self.tenants:
            self.wait_for_windows(tenant)
        self.assertEqual(len(self.status()["tenants"]), 3, client)

    def test_it_takes_its_window_and_never_answers(self):
        client = self.connect(run=1, wants=True)
        self.check_goes_on(*self.tenants)
        self.wait_until(lambda: "unresponsive" in self.states(), "it shown as unresponsive")
        client.close()
        self.finish_all()

    def states(self):
        return [on["state"] for row in self.status()["tenants"] for on in row["gpus"]]

    def test_it_never_reads(self):
        client = self.connect(run=1)
        client.socket.settimeout(0.2)
        with self.assertRaises((*CLOSED, TimeoutError)):
            for number in range(500_000):
                client.send("Ping", number=number)
        self.check_goes_on(*self.tenants)
        client.close()
        self.finish_all()

    def test_many_connections_that_say_nothing(self):
        silent = [self.connect() for _ in range(200)]
        self.check_goes_on(*self.tenants)
        late = self.worker()
        for client in silent:
            client.close()
        self.finish(late)
        self.finish_all()


if __name__ == "__main__":
    unittest.main()
