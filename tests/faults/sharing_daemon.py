# SPDX-License-Identifier: Apache-2.0
"""A daemon for one client that keeps memory which others may open, and hands it out."""

import os
import socket

from fake_daemon import PACKET_MAX
from swap_daemon import SwapDaemon
from wire_client import decode, encode


class SharingDaemon(SwapDaemon):
    def __init__(self, folder, shares):
        super().__init__(folder)
        self.shares = shares  # (token, index): count, bytes and file
        self.files = []  # that came with the message that is taken next

    def end(self):
        super().end()
        for *_, file in self.shares.values():
            os.close(file)
        self.shares.clear()

    def receive(self):
        packet, self.files, _, _ = socket.recv_fds(self.client, PACKET_MAX, 1)
        return decode(packet)

    def take(self, message):
        if message.name == "ShareMemory":
            (file,) = self.files
            part = message.fields
            self.shares[part["token"], part["index"]] = part["count"], part["bytes"], file
        elif message.name == "OpenShared":
            self.hand_out(message)
        elif message.name == "UnshareMemory":
            for key in [key for key in self.shares if key[0] == message.token]:
                os.close(self.shares.pop(key)[-1])
        else:
            super().take(message)

    def hand_out(self, wanted):
        request, index = wanted.request, wanted.fields["index"]
        if (wanted.token, index) not in self.shares:
            self.send("SharedGone", request=request)
            return
        count, size, file = self.shares[wanted.token, index]
        packet = encode("SharedChunk", request=request, index=index, count=count, bytes=size)
        socket.send_fds(self.client, [packet], [file])
