# SPDX-License-Identifier: Apache-2.0
"""A daemon that gives one window to whoever asks, with a bounded queue, and never ends it."""

import pathlib
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src" / "daemon"))
from wire_client import BOUNDED, decode, encode  # noqa: E402

BOUND_NS = 2_000_000
PACKET_MAX = 4096


class ScriptedDaemon:
    def __init__(self, folder):
        self.folder = folder
        (folder / "tenant").mkdir(parents=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(folder / "tenant" / "scheduler.sock"))
        self.listener.listen()
        self.client = None
        self.opened = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def close(self):
        for one in (self.listener, self.client):
            if one:
                one.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        for one in (self.listener, self.client):
            if one:
                one.close()

    def _serve(self):
        try:
            self.client, _ = self.listener.accept()
            while packet := self.client.recv(PACKET_MAX):
                self._answer(decode(packet))
        except OSError:
            pass  # the test is over, or the tenant has ended

    def _answer(self, message):
        answers = {
            "Hello": lambda: encode("Welcome", client=1, tenant=1),
            "UseGpu": lambda: encode("GpuKnown", ordinal=message.ordinal, known=1),
            "Want": lambda: encode(
                "Open", ordinal=message.ordinal, flags=BOUNDED, grant=1, queue_bound_ns=BOUND_NS
            ),
            "Ping": lambda: encode("Pong", number=message.number),
        }
        if message.name not in answers:
            return
        self.client.send(answers[message.name]())
        if message.name == "Want":
            self.opened.set()
