#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That nobody gets the port of a FakeApiServer that is down: tests run side by side, and one would
talk to the server of another.

usage: fake_api_server_test.py [UNITTEST_ARGUMENT...]
"""

import errno
import socket
import struct
import unittest

from fake_api_server import FakeApiServer

IP_LOCAL_PORT_RANGE = 51  # Linux 6.3


def stranger_with(port):
    """A socket that may be given this port alone, when it asks the kernel for any."""
    stranger = socket.socket()
    both_ends = struct.pack("=I", port | port << 16)
    stranger.setsockopt(socket.IPPROTO_IP, IP_LOCAL_PORT_RANGE, both_ends)
    return stranger


class Port(unittest.TestCase):
    def check_nobody_is_given(self, port):
        with socket.socket() as other, self.assertRaises(OSError) as refusal:
            other.bind(("127.0.0.1", port))
        self.assertEqual(refusal.exception.errno, errno.EADDRINUSE)
        try:
            stranger_with(port).close()
        except OSError:
            return  # an older kernel; all are given what the bind above would have got
        with stranger_with(port) as other, self.assertRaises(OSError, msg="a server"):
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", 0))
        with socket.create_server(("127.0.0.1", 0)) as server, stranger_with(port) as other:
            with self.assertRaises(OSError, msg="a client"):
                other.connect(server.getsockname())

    def test_it_is_nobodys_while_the_server_is_down(self):
        server = FakeApiServer().start()
        port = server.port
        for _ in range(3):
            server.stop()
            self.check_nobody_is_given(port)
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port))
            server.start()
            self.assertEqual(server.port, port)
            socket.create_connection(("127.0.0.1", port)).close()
        server.stop()


if __name__ == "__main__":
    unittest.main()
