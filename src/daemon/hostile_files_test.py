#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Descriptors that clients send, hold back or take all of, and many clients of one user: the daemon
and the others go on.

usage: hostile_files_test.py NVSHARE_SCHEDULER [UNITTEST_ARGUMENT...]
"""

import os
import resource
import signal
import socket
import struct
import time
import unittest

from daemon_case import DaemonCase
from wire_client import GOODBYE_GARBAGE, GOODBYE_TOO_MANY, HEADER, PATIENCE_S, VERSION, encode

TOKEN = b"0123456789abcdef"
ORIGIN_CLIENTS_MAX = 1024  # kOriginClientsMax
NOBODY = 65534
PASSED_FILES_MAX = 253  # with one packet: the kernel's limit


def lingering():
    """A socket that takes an hour to close: much is left to send, and the peer does not read."""
    listener = socket.create_server(("127.0.0.1", 0))
    ours = socket.create_connection(listener.getsockname())
    peer, _ = listener.accept()
    listener.close()
    ours.setblocking(False)
    try:
        while True:
            ours.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3600))
    return ours, peer


def give_away(sock):
    """Ends our own use of it without waiting; somebody else has it, too."""
    os.close(sock.detach())


class HostileFiles(DaemonCase):
    def setUp(self):
        super().setUp()
        self.start("--host-memory", "0")
        self.other = self.tenant(1)
        self.socket, self.peer = lingering()
        self.addCleanup(self.peer.close)

    def check_others_go_on(self):
        for number in range(10):
            self.other.ping(number)
        self.tenant(77).close()

    def test_one_that_is_slow_to_close_holds_nobody_up(self):
        client = self.tenant(2)
        packet = encode("ShareMemory", token=TOKEN, count=1, bytes=1 << 21)
        socket.send_fds(client.socket, [packet], [self.socket.fileno()])
        client.ping(1)
        give_away(self.socket)
        client.send("UnshareMemory", token=TOKEN)
        self.check_others_go_on()

    def test_nor_one_of_several_that_nobody_asked_for(self):
        client = self.tenant(2)
        numbers = [self.other.socket.fileno(), self.socket.fileno()]
        self.daemon.process.send_signal(signal.SIGSTOP)
        socket.send_fds(client.socket, [encode("Ping", number=5)], numbers)
        give_away(self.socket)
        self.daemon.process.send_signal(signal.SIGCONT)
        client.expect("Goodbye", reason=GOODBYE_GARBAGE)
        self.check_others_go_on()

    def test_only_one_message_brings_one_and_only_of_who_is_known(self):
        unknown = HEADER.pack(VERSION + 1, 60000, HEADER.size)
        share = encode("ShareMemory", token=TOKEN, count=1, bytes=1 << 21)
        for client, packet in (
            (self.tenant(2), unknown),
            (self.tenant(3), encode("Ping", number=5)),
            (self.connect(), unknown),
            (self.connect(), share),
        ):
            socket.send_fds(client.socket, [packet], [self.other.socket.fileno()])
            client.expect("Goodbye", reason=GOODBYE_GARBAGE)
        newer = self.tenant(4)
        newer.send_bytes(unknown)
        newer.ping(1)

    def test_nor_many_of_them(self):
        """As many as a packet can bring, of several clients; the daemon has none of them after."""
        files = self.files()
        clients = [self.tenant(number) for number in range(2, 12)]
        self.daemon.process.send_signal(signal.SIGSTOP)
        for client in clients:
            for _ in range(4):
                numbers = [self.socket.fileno()] * PASSED_FILES_MAX
                socket.send_fds(client.socket, [encode("Ping", number=5)], numbers)
        give_away(self.socket)
        self.daemon.process.send_signal(signal.SIGCONT)
        for client in clients:
            client.expect("Goodbye", reason=GOODBYE_GARBAGE)
        self.check_others_go_on()
        self.wait_for_files(files)

    def wait_for_files(self, files):
        deadline = time.monotonic() + PATIENCE_S
        while self.files() > files:
            self.assertLess(time.monotonic(), deadline, "descriptors stay")
            time.sleep(0.01)

    def test_nor_one_that_was_never_accepted(self):
        self.daemon.process.send_signal(signal.SIGSTOP)
        client = self.connect()
        socket.send_fds(client.socket, [encode("Ping", number=5)], [self.socket.fileno()])
        give_away(self.socket)
        self.daemon.process.terminate()
        self.daemon.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.daemon.process.wait(60), 0)

    def test_nor_one_that_was_never_read(self):
        client = self.tenant(2)
        self.daemon.process.send_signal(signal.SIGSTOP)
        client.send_bytes(b"no message")
        socket.send_fds(client.socket, [encode("Ping", number=5)], [self.socket.fileno()])
        give_away(self.socket)
        self.daemon.process.send_signal(signal.SIGCONT)
        client.expect("Goodbye", reason=GOODBYE_GARBAGE)
        self.check_others_go_on()

    def test_answers_with_descriptors_are_not_kept_for_who_does_not_read(self):
        client = self.tenant(2)
        packet = encode("ShareMemory", token=TOKEN, count=1, bytes=1 << 21)
        socket.send_fds(client.socket, [packet], [client.socket.fileno()])
        files = self.files()
        try:
            for _ in range(10_000):
                client.send("OpenShared", token=TOKEN)
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.daemon.wait_for_log("client closed", "does not read the answers")
        self.assertLess(self.files(), files + 10)
        self.check_others_go_on()


class Origins(DaemonCase):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs another user to be")
        files = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, files)

    def test_one_user_cannot_take_all_places_as_many_tenants(self):
        self.start("--host-memory", "0")
        for folder in (self.folder, self.folder.parent):
            folder.chmod(0o755)
        first = self.connect()
        first.join(1)
        os.setresuid(0, NOBODY, 0)  # the kernel tells the peer's user as it was when it connected
        try:
            for run in range(ORIGIN_CLIENTS_MAX):
                self.connect().join(1000 + run)
            refused = self.connect()
            refused.send("Hello", run=5, program=b"test")
            refused.expect("Goodbye", reason=GOODBYE_TOO_MANY)
        finally:
            os.setresuid(0, 0, 0)
        self.connect().join(2)
        first.ping(1)

    def test_a_user_who_says_more_than_is_read_at_once_loses_nothing(self):
        daemon = self.start("--host-memory", "0")
        for folder in (self.folder, self.folder.parent):
            folder.chmod(0o755)
        other = self.tenant(1)
        os.setresuid(0, NOBODY, 0)
        try:
            clients = [self.tenant(1000 + run) for run in range(128)]
        finally:
            os.setresuid(0, 0, 0)
        # All at once, and each costs the user as much as 17: five times what it has saved.
        daemon.process.send_signal(signal.SIGSTOP)
        for client in clients:
            for _ in range(50):
                client.send_bytes(encode("Holds", resident=1))
        daemon.process.send_signal(signal.SIGCONT)
        # ThreadSanitizer needs longer for each than what that costs takes to earn.
        if "thread" not in os.environ.get("NVSHARE_TEST_SANITIZERS", ""):
            daemon.wait_for_log("read more slowly")
        other.ping(1)
        for number, client in enumerate(clients):
            client.ignored = {*client.ignored, "Allow"}
            client.ping(number)


if __name__ == "__main__":
    unittest.main()
