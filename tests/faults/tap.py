# SPDX-License-Identifier: Apache-2.0
"""Stands between tenants and the daemon, hands every packet on, and counts them by name. When one
comes that the test waits for, it does what the test says before it hands that on.

The daemon sees the test's own process as the peer, so tenants behind it need a run of their own.
"""

import collections
import os
import select
import socket
import threading

import daemon_modules  # noqa: F401
from wire_client import decode

LOOK_AGAIN_S = 0.1
PACKET_MAX = 4096


class Tap:
    def __init__(self, folder, daemon_folder):
        self.folder = folder
        self.daemon = str(daemon_folder / "tenant" / "scheduler.sock")
        (folder / "tenant").mkdir(parents=True)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(folder / "tenant" / "scheduler.sock"))
        self.listener.listen()
        self.counts = collections.Counter()
        self.trap = None  # a name, how many of that name come before, and what to do then
        self.peers = {}
        self.is_over = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def call_at(self, name, number, what):
        """In the tap's own thread, once."""
        self.trap = (name, number, what)

    def close(self):
        self.is_over = True
        self.thread.join()
        for one in (self.listener, *self.peers):
            one.close()

    def _run(self):
        while not self.is_over:
            for ready in select.select([self.listener, *self.peers], [], [], LOOK_AGAIN_S)[0]:
                if ready is self.listener:
                    self._accept()
                elif ready in self.peers:
                    self._hand_on(ready)

    def _accept(self):
        tenant, _ = self.listener.accept()
        daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            daemon.connect(self.daemon)
        except (FileNotFoundError, ConnectionRefusedError):  # there is none; the tenant tries again
            tenant.close()
            daemon.close()
            return
        self.peers.update({tenant: daemon, daemon: tenant})

    def _hand_on(self, one):
        other = self.peers[one]
        files = []
        try:
            packet, files, _, _ = socket.recv_fds(one, PACKET_MAX, 1)
            if packet:
                self._count(decode(packet).name)
                socket.send_fds(other, [packet], files)
                return
        except ConnectionError:
            pass
        finally:
            for file in files:
                os.close(file)
        for end in (one, other):
            del self.peers[end]
            end.close()

    def _count(self, name):
        self.counts[name] += 1
        if not self.trap or self.trap[0] != name:
            return
        _, number, what = self.trap
        self.trap = (name, number - 1, what) if number > 0 else None
        if number == 0:
            what()
