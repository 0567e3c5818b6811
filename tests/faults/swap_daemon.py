# SPDX-License-Identifier: Apache-2.0
"""A daemon for one client that takes its memory away and gives it back when the test says so."""

import os
import select
import socket
import struct

from fake_daemon import PACKET_MAX, FakeDaemon
from wire_client import decode, encode

SHARED = 1  # AllowFlag
SHORT, STAYS = 1, 8  # HoldsFlag
SEGMENT = 256 << 20
CHUNK = 64 << 20  # at most
ALL = 1 << 40


class SwapDaemon(FakeDaemon):
    def __init__(self, folder, host_bytes=ALL, visible=None, keeps_segments=False):
        super().__init__(folder)
        self.keeps_segments = keeps_segments
        self.visible = visible
        self.number = 0
        self.host_left = host_bytes
        self.lent = self.lent_bytes = 0
        self.given_back = []
        self.segments = []  # as files, where the test looks at what it lends
        self.holds = None
        self.drains = 0
        self.on_holds = []  # called with each one that comes

    def end(self):
        super().end()
        while self.segments:
            os.close(self.segments.pop())

    def welcome_gpu(self):
        if self.visible is not None:
            self.send("Visible", ordinal=0, total=self.visible, limit=self.visible)
        super().welcome_gpu()

    def expect(self, *names):
        """Without a name: any message."""
        while True:
            message = self.receive()
            self.take(message)
            if not names or message.name in names:
                return message

    def receive(self):
        return decode(self.client.recv(PACKET_MAX))

    def take(self, message):
        if message.name == "Ping":
            self.send("Pong", number=message.number)
        elif message.name == "NeedHost":
            self.lend(message)
        elif message.name == "Drained":
            self.drains += 1
        elif message.name == "LackHost" and message.bytes > 0:
            self.lend(message)
        elif message.name == "HostDone":
            self.given_back.append(message.segment)
        elif message.name == "Holds":
            self.holds = message
            for call in list(self.on_holds):
                call(message)

    def lend(self, need):
        """What NeedHost or LackHost says."""
        left = need.bytes
        request = need.fields.get("request", 0)
        while left > 0:
            size = min(-(-left // CHUNK) * CHUNK, SEGMENT)
            if size > self.host_left:
                self.send("HostDenied", reason=2, request=request, bytes=left)
                return
            self.host_left -= size
            self.lent += 1
            self.lent_bytes += size
            file = os.memfd_create("segment", os.MFD_CLOEXEC)
            os.truncate(file, size)
            packet = encode("HostSegment", request=request, segment=self.lent, bytes=size)
            socket.send_fds(self.client, [packet], [file])
            if self.keeps_segments:
                self.segments.append(file)
            else:
                os.close(file)
            left -= size

    def serve_idle(self):
        """Until the client gives its window up; False: it has ended."""
        try:
            self.expect("Drained")
        except (ConnectionResetError, struct.error):
            return False
        return True

    def serve_while(self, condition):
        """Answers, so that the client does not take us for dead."""
        while condition():
            self.serve(0.05)

    def serve(self, wait_s=0.0):
        """One message, if there is one."""
        if select.select([self.client], [], [], wait_s)[0]:
            self.take(self.receive())

    def allow(self, size, flags=SHARED):
        self.number += 1
        self.send("Allow", ordinal=0, flags=flags, number=self.number, bytes=size)

    def wait_for_holds(self, condition):
        """The next one that goes by the latest word and is so."""
        while True:
            holds = self.expect("Holds")
            if holds.number == self.number and condition(holds):
                return holds

    def swap_out(self, keep=0):
        """Everything but so much. The window must be closed."""
        self.allow(keep)
        return self.wait_for_holds(lambda holds: holds.resident <= keep)

    def swap_in(self):
        self.allow(ALL)
        return self.wait_for_holds(lambda holds: holds.away == 0)


class ScriptedDaemon:
    """For a FaultCase with a script as its daemon: every step happens when the test says so."""

    host_bytes = ALL
    visible = None  # what programs see of the GPU's memory; None: all of it
    keeps_segments = False  # of host memory, as files

    def start_daemon(self):
        self.daemon = SwapDaemon(
            self.folder, self.host_bytes, self.visible, self.keeps_segments
        )
        self.addCleanup(self.daemon.end)

    def kill_daemon(self):
        pass

    def ready_tenant(self, *words, **variables):
        """One that has said so, with all memory allowed and its window open."""
        tenant = self.tenant(*words, **variables)
        self.daemon.greet()
        self.daemon.allow(ALL)
        self.daemon.open()
        tenant.wait_for_line("ready")
        return tenant
