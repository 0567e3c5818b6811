# SPDX-License-Identifier: Apache-2.0
"""Two tenants of a daemon that take turns at a GPU, as fast as it lets them, and how often."""

import contextlib
import socket
import threading

from wire_client import Client


class HandOvers:
    def __init__(self, folder, uuid):
        self.uuid, self.count, self.is_over, self.error = uuid, 0, False, None
        self.clients = [Client(folder), Client(folder)]
        self.thread = None

    def go(self, most=None):
        """So often, or until something fails."""
        first, second = self.clients
        for run, client in enumerate(self.clients, 1):
            client.join(run)
            client.use(self.uuid)
        first.want()
        grant = first.expect_open()
        while self.count != most:
            second.want()
            first.expect_close(grant)
            first.drained(grant)
            grant = second.expect_open()
            first, second = second, first
            self.count += 1

    def start(self):
        """Goes on in a thread until the end."""
        self.thread = threading.Thread(target=self._go_until_end, daemon=True)
        self.thread.start()

    def _go_until_end(self):
        try:
            self.go()
        except (AssertionError, OSError) as error:
            if not self.is_over:
                self.error = error

    def end(self):
        self.is_over = True
        for client in self.clients:
            with contextlib.suppress(OSError):
                client.socket.shutdown(socket.SHUT_RDWR)
        if self.thread is not None:
            self.thread.join()
        for client in self.clients:
            client.close()
