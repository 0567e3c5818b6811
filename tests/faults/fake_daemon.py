# SPDX-License-Identifier: Apache-2.0
"""A daemon for one client that opens and closes its window when the test says so."""

import socket

import daemon_modules  # noqa: F401
from tenant import PATIENCE_S
from wire_client import BOUNDED, decode, encode

PACKET_MAX = 4096


class FakeDaemon:
    def __init__(self, folder):
        (folder / "tenant").mkdir(parents=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.settimeout(PATIENCE_S)
        self.listener.bind(str(folder / "tenant" / "scheduler.sock"))
        self.listener.listen()
        self.client = None
        self.grant = 0

    def end(self):
        self.listener.close()
        if self.client:
            self.client.close()

    def meet_again(self):
        """Takes a client, who may have been another daemon's."""
        self.client, _ = self.listener.accept()
        self.client.settimeout(PATIENCE_S)
        self.expect("Hello")
        self.send("Welcome", client=1, tenant=1)

    def greet(self):
        """Takes a client, and is asked for its first window."""
        self.meet_again()
        self.expect("UseGpu")
        self.welcome_gpu()
        self.expect("Want")

    def welcome_gpu(self):
        self.send("GpuKnown", ordinal=0, known=1)

    def expect(self, *names):
        """The next message of these names; what else the client tells meanwhile is its own."""
        while (message := decode(self.client.recv(PACKET_MAX))).name not in names:
            if message.name == "Ping":
                self.send("Pong", number=message.number)
        return message

    def send(self, name, **fields):
        self.client.send(encode(name, **fields))

    def open(self, bound_ns=0):
        self.grant += 1
        flags = BOUNDED if bound_ns else 0
        self.send("Open", ordinal=0, flags=flags, grant=self.grant, queue_bound_ns=bound_ns)

    def close(self):
        """Until nothing of the client's runs any more; it may refuse while it is inside a call, or
        if the machine holds it up."""
        answer = None
        while answer != "Drained":
            self.send("Close", ordinal=0, grant=self.grant)
            answer = self.expect("Drained", "Refused").name
