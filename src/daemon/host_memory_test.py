#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Host memory that nvshare-scheduler lends: the real program, real memory, a few megabytes of it.

usage: host_memory_test.py SCHEDULER [UNITTEST_ARGUMENT...]
"""

import mmap
import os
import pathlib
import signal
import socket
import time
import unittest

from daemon_case import DaemonCase
from wire_client import GOODBYE_GARBAGE, GOODBYE_STOPPING, PATIENCE_S, Client, encode

SEGMENT = 64 << 20
SEGMENTS = 8
RESERVE = 2
NO_POOL, FULL, SHARE = 1, 2, 3  # HostDenial
BLOCK = 512  # of st_blocks


def bytes_made(memfd):
    return os.fstat(memfd).st_blocks * BLOCK


class HostMemoryCase(DaemonCase):
    def start(self, *arguments, **more):
        return super().start("--host-memory", "512MiB", *arguments, **more)

    def joined(self, run, **fields):
        client = self.connect()
        client.join(run, **fields)
        return client

    def segment(self, client, request=0):
        """The next answer, which must be a segment: its number, and its descriptor."""
        message, memfd = self.answer(client)
        self.assertEqual((message.name, message.request), ("HostSegment", request), message)
        self.assertEqual(message.bytes, SEGMENT)
        return message.segment, memfd

    def answer(self, client):
        """Of any kind, with its descriptor if it has one."""
        message, memfd = client.receive_with_file()
        if memfd is not None:
            self.addCleanup(os.close, memfd)
        return message, memfd

    def segments(self, client, count, request=0):
        client.send("NeedHost", request=request, bytes=count * SEGMENT)
        return [self.segment(client, request) for _ in range(count)]

    def pool(self):
        return self.ask(command="status")["host_memory"]

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            self.assertLess(time.monotonic(), end, f"{what}: {self.pool()}")
            time.sleep(0.002)

    def wait_for_pool(self, **counts):
        self.wait_for(counts, lambda: {key: self.pool()[key] for key in counts} == counts)


class Lending(HostMemoryCase):
    def test_a_segment_is_lent_used_and_given_back(self):
        self.start()
        client = self.joined(1)
        self.assertEqual(self.pool()["cap_bytes"], SEGMENTS * SEGMENT)
        [(number, memfd)] = self.segments(client, 1, request=7)
        self.assertEqual(bytes_made(memfd), SEGMENT)
        for size in (0, 2 * SEGMENT):
            with self.assertRaises(PermissionError):
                os.ftruncate(memfd, size)
        with mmap.mmap(memfd, SEGMENT) as memory:
            self.assertEqual(memory[:], bytes(SEGMENT))
            memory[:] = b"x" * SEGMENT
            pool = self.pool()
            self.assertEqual(pool["held_bytes"], SEGMENT)
            tenant = self.ask(command="status")["tenants"][0]["id"]
            self.assertEqual(pool["tenants"], [{"id": tenant, "held_bytes": SEGMENT}])
            client.send("HostDone", segment=number)
            self.wait_for_pool(held_bytes=0, freeing_bytes=0)
            self.assertEqual(bytes_made(memfd), 0, "gone, though it is still mapped")
        client.ping(1)

    def test_a_daemon_that_is_killed_lets_go_of_its_tenants_before_its_memory(self):
        self.start()
        first, second = self.joined(1), self.joined(2)
        self.segments(first, 2)
        self.segments(second, 2)
        numbers = {"/memfd:nvshare": [], "socket:": []}
        folder = f"/proc/{self.daemon.process.pid}/fd"
        for number in os.listdir(folder):
            for kind in numbers:
                if os.readlink(f"{folder}/{number}").startswith(kind):
                    numbers[kind].append(int(number))
        highest = sorted(numbers["socket:"])[-3:]  # of two tenants, and where others would come
        self.assertLess(max(numbers["/memfd:nvshare"]), min(highest))

    def test_the_cap_is_kept_and_nobody_takes_the_last_quarter_from_another(self):
        self.start()
        first, second = self.joined(1), self.joined(2)
        first.send("NeedHost", request=1, bytes=100 * SEGMENT)
        first.expect("HostDenied", request=1, reason=SHARE, bytes=94 * SEGMENT)
        first_memory = [self.segment(first, 1) for _ in range(6)]
        self.segments(second, 2, request=2)
        for client in (first, second):
            client.send("NeedHost", request=3, bytes=1)
            client.expect("HostDenied", request=3, reason=FULL, bytes=1)
        pool = self.pool()
        self.assertEqual((pool["held_bytes"], pool["refused"]), (SEGMENTS * SEGMENT, 3))
        first.send("HostDone", segment=first_memory[0][0])
        self.segments(first, 1, request=4)

    def test_tenants_share_nothing(self):
        self.start()
        first, second = self.joined(1), self.joined(2)
        [(number, memfd)] = self.segments(first, 1)
        with mmap.mmap(memfd, SEGMENT) as kept:
            kept[:] = b"x" * SEGMENT
            first.send("HostDone", segment=number)
            for other, file in self.segments(second, 6):
                self.assertNotEqual(other, number)
                self.assertNotEqual(os.fstat(file).st_ino, os.fstat(memfd).st_ino)
                with mmap.mmap(file, SEGMENT) as memory:
                    kept[:4] = b"yyyy"
                    self.assertEqual(memory[:4], bytes(4))

    def test_some_is_made_ahead_once_a_second_tenant_is_there(self):
        self.start()
        first = self.joined(1)
        self.segments(first, 1)
        self.assertEqual((self.pool()["ready_bytes"], self.pool()["touching_bytes"]), (0, 0))
        second = self.joined(2)
        self.wait_for_pool(ready_bytes=RESERVE * SEGMENT, touching_bytes=0)
        self.segments(second, 1)
        self.wait_for_pool(ready_bytes=RESERVE * SEGMENT, touching_bytes=0)
        first.close()
        second.close()
        self.wait_for_pool(ready_bytes=0, touching_bytes=0, held_bytes=0, freeing_bytes=0)

    def test_who_lacks_memory_gets_what_another_gives_back(self):
        self.start()
        first, second = self.joined(1), self.joined(2)
        memory = self.segments(first, 6, request=1)
        self.segments(second, 2, request=2)
        second.send("LackHost", bytes=SEGMENT + 1)
        for client in (first, second):
            client.expect("HostShort", is_short=1)
        third = self.joined(3)
        third.expect("HostShort", is_short=1)
        for number, _ in memory[:2]:
            first.send("HostDone", segment=number)
        for client in (first, third):
            client.expect("HostShort", is_short=0)
        # The first segment may be made before the daemon hears that there is room for the second.
        got = [self.answer(second)[0] for _ in range(3)]
        self.assertEqual(sorted(one.name for one in got), ["HostSegment"] * 2 + ["HostShort"])
        self.assertEqual([one.is_short for one in got if one.name == "HostShort"], [0])
        self.assertEqual(self.pool()["held_bytes"], SEGMENTS * SEGMENT)

    def test_without_a_pool_all_is_denied(self):
        self.start("--host-memory", "0")
        client = self.joined(1)
        client.send("NeedHost", request=5, bytes=3)
        client.expect("HostDenied", request=5, reason=NO_POOL, bytes=3)
        self.assertEqual((self.pool()["cap_bytes"], self.pool()["refused"]), (0, 1))
        threads = pathlib.Path(f"/proc/{self.daemon.process.pid}/task").glob("*/comm")
        self.assertNotIn("host-memory\n", [comm.read_text("ascii") for comm in threads])

    def test_what_clients_hold_outlives_the_daemon(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.start()
            client = self.joined(1)
            [(_, memfd)] = self.segments(client, 1)
            os.pwrite(memfd, b"precious", 100)
            self.daemon.end(number)
            if number == signal.SIGTERM:
                client.expect("Goodbye", reason=GOODBYE_STOPPING)
            client.expect_end()
            self.assertEqual(os.pread(memfd, 8, 100), b"precious")
            self.assertEqual(bytes_made(memfd), SEGMENT)


    def test_what_was_kept_over_a_restart_counts(self):
        self.start()
        client, other = self.joined(1), self.joined(2)
        client.send("KeptHost", bytes=5 * SEGMENT)
        client.ping(1)
        pool = self.pool()
        self.assertEqual((pool["held_bytes"], pool["kept_bytes"]), (0, 5 * SEGMENT))
        self.assertEqual([one["held_bytes"] for one in pool["tenants"]], [5 * SEGMENT])
        other.send("NeedHost", request=1, bytes=4 * SEGMENT)
        other.expect("HostDenied", request=1, reason=SHARE, bytes=SEGMENT)
        for _ in range(3):
            self.segment(other, 1)
        client.close()
        self.wait_for_pool(kept_bytes=0)
        self.segments(other, 1, request=2)


class Endings(HostMemoryCase):
    def test_what_a_killed_client_held_is_freed_even_if_its_child_keeps_it(self):
        self.start()
        self.joined(1).ping(1)
        before = self.files()
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            try:
                client = Client(self.folder)
                client.join(0)
                client.send("NeedHost", bytes=6 * SEGMENT)  # and is killed while it is served
                _, memfd = client.receive_with_file()
                if os.fork() != 0:
                    signal.pause()
                socket.send_fds(theirs, [b"x"], [memfd])
                theirs.recv(1)  # gone with the test
            finally:
                os._exit(0)
        theirs.close()
        _, [memfd], _, _ = socket.recv_fds(ours, 1, 1)
        self.addCleanup(os.close, memfd)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.wait_for_pool(held_bytes=0, promised_bytes=0, freeing_bytes=0, tenants=[])
        self.assertEqual(bytes_made(memfd), 0)
        self.wait_for("descriptors", lambda: self.files() <= before + RESERVE)
        ours.close()

    def test_a_client_that_comes_and_goes_leaves_no_descriptors(self):
        self.start()
        self.joined(1).ping(1)
        before = self.files()
        for run in range(2, 12):
            client = self.joined(run)
            client.send("NeedHost", bytes=SEGMENTS * SEGMENT)
            if run % 2:
                client.receive()  # and its descriptor is dropped
            client.close()
        self.wait_for_pool(held_bytes=0, promised_bytes=0, freeing_bytes=0, touching_bytes=0)
        reserve = lambda: self.pool()["ready_bytes"] // SEGMENT
        self.wait_for("descriptors", lambda: self.files() == before + reserve())


class Faults(HostMemoryCase):
    def check_closed(self, client, *words):
        while (message := client.receive()) and message.name != "Goodbye":
            pass
        self.assertEqual(message.reason, GOODBYE_GARBAGE)
        client.expect_end()
        self.daemon.wait_for_log("client closed", *words)

    def test_garbage_closes_that_connection_alone(self):
        self.start()
        other = self.joined(1)
        [(number, memfd)] = self.segments(other, 1)
        os.pwrite(memfd, b"precious", 0)
        missing = "does not have"
        for packet, reason in (
            (encode("NeedHost", bytes=0), "out of its range"),
            (encode("NeedHost", bytes=(1 << 50) + 1), "out of its range"),
            (encode("KeptHost", bytes=(1 << 50) + 1), "out of its range"),
            (encode("LackHost", bytes=(1 << 50) + 1), "out of its range"),
            (encode("HostShort", is_short=1), "other side"),
            (encode("NeedHost", bytes=1)[:-1], "wrong length"),
            (encode("HostDone", segment=number), missing),
            (encode("HostDone", segment=0), missing),
            (encode("HostDone", segment=1 << 63), missing),
            (encode("HostSegment", segment=number, bytes=SEGMENT), "other side"),
            (encode("HostDenied", reason=1, bytes=1), "other side"),
        ):
            with self.subTest(packet=packet):
                client = self.joined(2)
                client.send_bytes(packet)
                self.check_closed(client, reason)
        client = self.joined(2)
        [(own, _)] = self.segments(client, 1)
        for _ in range(2):
            client.send("HostDone", segment=own)
        self.check_closed(client, missing)
        self.assertEqual(os.pread(memfd, 8, 0), b"precious")
        other.send("HostDone", segment=number)
        other.ping(1)

    def test_who_guesses_the_next_number_harms_only_itself(self):
        self.start()
        client = self.joined(1)
        client.send("NeedHost", bytes=4 * SEGMENT)
        client.send("HostDone", segment=1)  # which may be its own by now, or not
        self.joined(2).ping(1)
        client.close()
        self.wait_for_pool(held_bytes=0, promised_bytes=0)

    def test_who_does_not_read_its_segments_is_served_when_it_does(self):
        self.start()
        client = self.joined(1)
        for ordinal in range(30):
            client.use(bytes([ordinal + 1] * 16), ordinal)  # so that it may send many messages
        sent = 400
        for number in range(sent):
            client.send("Ping", number=number)
        client.send("NeedHost", request=3, bytes=2 * SEGMENT)
        for number in range(sent):
            client.expect("Pong", number=number)
        for _ in range(2):
            self.assertEqual(bytes_made(self.segment(client, 3)[1]), SEGMENT)


if __name__ == "__main__":
    unittest.main()
