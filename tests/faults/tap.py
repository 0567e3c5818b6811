# SPDX-License-Identifier: Apache-2.0
"""Stands between tenants and the daemon, hands every packet on, and counts them by name.

The daemon sees the test's own process as the peer, so tenants behind it need a run of their own.
"""

import collections
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
        self.peers = {}
        self.is_over = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

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
        daemon.connect(self.daemon)
        self.peers.update({tenant: daemon, daemon: tenant})

    def _hand_on(self, one):
        other = self.peers[one]
        try:
            packet = one.recv(PACKET_MAX)
            if packet:
                self.counts[decode(packet).name] += 1
                other.send(packet)
                return
        except ConnectionError:
            pass
        for end in (one, other):
            del self.peers[end]
            end.close()
