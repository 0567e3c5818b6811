#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvshare-scheduler as its clients meet it: the real program, real sockets, scripted clients.

usage: daemon_test.py SCHEDULER [UNITTEST_ARGUMENT...]
"""

import os
import signal
import unittest

from daemon_case import GPU, OTHER_GPU, DaemonCase
from wire_client import (
    AWAITED,
    GATE_OPEN,
    GOODBYE_GARBAGE,
    GOODBYE_STOPPING,
    GOODBYE_TOO_MANY,
    GOODBYE_VERSION,
    OLDEST_VERSION,
    PAUSED,
    VERSION,
    Client,
    encode,
)


class Windows(DaemonCase):
    def test_who_wants_alone_gets_an_unbounded_window(self):
        self.start()
        client = self.tenant(1)
        client.want()
        client.expect("Open", ordinal=0, flags=0, queue_bound_ns=0)

    def test_two_tenants_alternate(self):
        self.start()
        first, second = self.tenant(1), self.tenant(2)
        first.want()
        grants = {first: first.expect_open()}
        second.want()
        holder, other, served = first, second, []
        for _ in range(6):
            holder.expect_close(grants[holder])
            holder.drained(grants[holder], waiting=1)
            grants[other] = other.expect_open()
            served.append(grants[other])
            holder, other = other, holder
        self.assertEqual(served, sorted(set(served)), "every grant is a new one")

    def test_a_window_can_be_given_up(self):
        # A turn lasts seconds: what happens here is not its end.
        self.start("--mode", "serial")
        first, second = self.tenant(1), self.tenant(2)
        first.want()
        grant = first.expect_open()
        second.want()
        self.assertEqual(first.expect("Open", grant=grant).flags & AWAITED, AWAITED)
        first.drained(grant)
        late = second.expect_open()
        first.ping(1)  # nobody has asked it to close
        second.drained(late, waiting=1)
        second.expect_open()

    def test_who_gives_a_window_up_and_wants_more_goes_on_in_it(self):
        # As if it had not gone idle: a thread came to the gate while it was being closed.
        self.start("--mode", "serial")
        first, second = self.tenant(1), self.tenant(2)
        first.want()
        grant = first.expect_open()
        second.want()
        first.expect("Open", grant=grant)
        first.drained(grant, waiting=1)
        again = first.expect_open()
        self.assertNotEqual(again, grant)
        second.ping(1)  # nothing has come to it
        first.drained(again)
        second.expect_open()

    def test_who_is_next_is_told_when_a_drain_will_end(self):
        self.start()
        first, second = self.tenant(1), self.tenant(2)
        first.want()
        grant = first.expect_open()
        second.want()
        while True:
            first.expect_close(grant)
            first.send("Draining", ordinal=0, grant=grant, remaining_ns=5_000_000)
            told = second.receive()
            if told.name == "GetReady":
                break
            # The test itself was held up, and the daemon waited no longer: now it is the other way.
            self.assertEqual(told.name, "Open")
            first.drained(grant, waiting=1)
            first, second, grant = second, first, told.grant
        self.assertEqual(told.ordinal, 0)
        self.assertLessEqual(told.in_ns, 5_000_000)
        first.drained(grant)
        second.expect_open()

    def test_nothing_is_closed_while_nobody_waits(self):
        self.start("--window", "1ms")
        client = self.tenant(1)
        client.want()
        client.expect_open()
        # Idle and busy again, many windows long: nothing but answers comes.
        for number in range(500):
            client.ping(number)

    def test_clients_of_one_run_are_one_tenant(self):
        self.start()
        first, second = self.tenant(7), self.tenant(7)
        first.want()
        first.expect_open()
        second.want()
        second.expect_open()
        self.assertEqual(len(self.ask(command="status")["tenants"]), 1)

    def test_gpus_are_scheduled_apart(self):
        self.start()
        first, second = self.tenant(1, GPU), self.tenant(2, OTHER_GPU)
        first.want()
        second.want()
        first.expect_open()
        second.expect_open()

    def test_pauses_close_windows_and_outlive_the_daemon(self):
        self.start()
        client = self.tenant(1, program=b"worker")
        client.want()
        grant = client.expect_open()
        self.ask(command="pause", tenant="worker")
        client.expect("Pause", paused=1)
        client.expect_close(grant)
        client.drained(grant, waiting=1)
        client.ping(1)
        self.assertEqual(self.states(), {"worker": ["paused"]})
        self.assertEqual(self.daemon.end(), 0)
        client.expect("Goodbye", reason=GOODBYE_STOPPING)

        self.start()
        again = self.connect()
        again.join(1, program=b"worker")
        again.expect("Pause", paused=1)
        again.use(GPU)
        again.want()
        again.ping(2)
        self.ask(command="resume", tenant="worker")
        again.expect("Pause", paused=0)
        again.expect_open()

    def test_a_client_that_knows_of_a_pause_is_believed(self):
        self.start()
        client = self.connect()
        client.join(1, flags=PAUSED)
        client.expect("Pause", paused=1)
        self.assertTrue(self.ask(command="status")["tenants"][0]["paused"])

    def test_status_names_what_clients_said(self):
        self.start("--gpu-memory", "16GiB")
        client = self.tenant(1, program=b"train.py", pod=b"job-0", pod_namespace=b"ml", priority=3)
        client.expect("Visible", ordinal=0)
        client.send("Usage", ordinal=0, memory_bytes=12345)
        client.ping(1)
        status = self.ask(command="status")
        tenant, gpu = status["tenants"][0], status["gpus"][0]
        self.assertEqual((tenant["name"], tenant["priority"]), ("ml/job-0", "high"))
        self.assertEqual(tenant["clients"][0]["pid"], os.getpid())
        self.assertEqual((gpu["name"], gpu["memory_bytes"]), ("unknown", 16 << 30))
        self.assertEqual(gpu["uuid"], "GPU-01020304-0506-0708-090a-0b0c0d0e0f10")


class Deaths(DaemonCase):
    def start_holder(self, keep_socket_in_child):
        """A process that has the window and waits to be killed."""
        ready, said = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                client = Client(self.folder)
                client.join(0)
                client.use(GPU)
                client.want()
                client.expect_open()
                if not keep_socket_in_child or os.fork() != 0:
                    os.write(said, b"x")
                    signal.pause()
                # Gone when the daemon has closed the connection, or with the test.
                while client.receive() is not None:
                    pass
            finally:
                os._exit(0)
        os.close(said)
        self.assertEqual(os.read(ready, 1), b"x")
        os.close(ready)
        return pid

    def check_killed_holder(self, keep_socket_in_child, how):
        self.start()
        other = self.tenant(1)
        pid = self.start_holder(keep_socket_in_child)
        os.kill(pid, signal.SIGKILL)
        other.want()
        other.expect_open()
        os.waitpid(pid, 0)
        self.daemon.wait_for_log("client left", f"pid={pid}", how)

    def test_a_killed_holder_loses_its_window(self):
        self.check_killed_holder(False, "client left")

    def test_even_if_its_child_keeps_the_socket(self):
        self.check_killed_holder(True, "its process ended")

    def test_a_stopped_holder_loses_its_window_and_can_come_back(self):
        self.start()
        other = self.tenant(1, program=b"other")
        pid = self.start_holder(False)
        os.kill(pid, signal.SIGSTOP)
        other.want()
        other.expect_open()
        self.assertIn(["unresponsive"], self.states().values())
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.daemon.wait_for_log("client left", f"pid={pid}")
        self.assertEqual(list(self.states()), ["other"])


class Faults(DaemonCase):
    def check_closed(self, client, reason, *words):
        client.expect("Goodbye", reason=reason)
        client.expect_end()
        self.daemon.wait_for_log("client closed", f"pid={os.getpid()}", *words)

    def check_others_go_on(self, other):
        other.want()
        other.drained(other.expect_open(), waiting=0)
        other.ping(99)

    def test_garbage_closes_that_connection_alone(self):
        self.start()
        other = self.tenant(1)
        for packet, reason in (
            (b"\xff" * 40, "wrong length"),
            (b"\x01", "shorter than a header"),
            (encode("Want")[:-3], "wrong length"),
            (encode("Hello", run=2)[:100], "wrong length"),
            (encode("Welcome", client=1), "other side"),
            (encode("Hello", run=2, priority=9), "out of its range"),
            (encode("Hello", run=2, program=b"x" * 64), "out of its range"),
            (encode("Want"), "first message is not Hello"),
            (b"\0" * 4000, "longer than any message"),
        ):
            with self.subTest(packet=packet[:12]):
                client = self.connect()
                client.send_bytes(packet)
                self.check_closed(client, GOODBYE_GARBAGE, reason)
        self.check_others_go_on(other)

    def test_garbage_after_a_good_start(self):
        self.start()
        other = self.tenant(1)
        unnamed = "has not named"
        for packet, reason in (
            (encode("Hello", run=2), "second Hello"),
            (encode("Want", ordinal=1), unnamed),
            (encode("Usage", ordinal=29), unnamed),
            (encode("Holds", ordinal=1, resident=5), unnamed),
            (encode("Holds", resident=5, clean=6), "out of its range"),
            (encode("Want", ordinal=30), "out of its range"),
            (encode("Drained", waiting=2), "out of its range"),
            (encode("Draining", remaining_ns=1 << 63), "out of its range"),
            (encode("UseGpu", ordinal=1, uuid=GPU), "two numbers to one"),
            (encode("UseGpu", ordinal=0, uuid=OTHER_GPU), "one number to two"),
            (encode("UseGpu", ordinal=1), "without a UUID"),
            (b"", "left"),
        ):
            with self.subTest(packet=packet[:12]):
                client = self.tenant(2, program=b"bad")
                client.want()
                client.expect_open()
                client.send_bytes(packet)
                if packet:
                    self.check_closed(client, GOODBYE_GARBAGE, reason, "tenant=bad")
                else:
                    self.daemon.wait_for_log("client left")
        self.check_others_go_on(other)

    def test_a_wrong_version_is_told_so(self):
        self.start()
        other = self.tenant(1)
        for version in (OLDEST_VERSION - 1, VERSION + 2):
            client = self.connect()
            client.send_bytes(encode("Hello", version=version, run=2))
            self.check_closed(client, GOODBYE_VERSION, "version")
        self.check_others_go_on(other)

    def test_messages_of_a_newer_version_are_skipped(self):
        self.start()
        client = self.tenant(1)
        packet = bytearray(encode("Ping", version=VERSION + 1, number=1))
        packet[2:4] = (63).to_bytes(2, "little")
        client.send_bytes(bytes(packet))
        client.ping(2)

    def test_a_flood_ends_its_connection(self):
        self.start()
        other, client = self.tenant(1), self.tenant(2, program=b"flood")
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            for _ in range(300_000):  # the daemon ends it
                client.send("Idle")
        self.daemon.wait_for_log("too many messages", "tenant=flood")
        self.check_others_go_on(other)

    def test_who_does_not_read_is_closed(self):
        self.start()
        other, client = self.tenant(1), self.connect()
        client.join(2, program=b"deaf")
        # A client with many GPUs may send more, so that it is not the number of its messages.
        for ordinal in range(30):
            client.use(bytes([ordinal + 1] * 16), ordinal)
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            for _ in range(10_000):
                client.send("Ping")
        self.daemon.wait_for_log("does not read", "tenant=deaf")
        self.check_others_go_on(other)

    def test_who_says_nothing_is_closed(self):
        self.start()
        silent, other = self.connect(), self.tenant(1)
        self.check_closed(silent, GOODBYE_GARBAGE, "Hello in time")
        self.check_others_go_on(other)

    def test_connections_that_say_nothing_do_not_keep_others_out(self):
        self.start()
        silent = [self.connect() for _ in range(300)]
        self.check_others_go_on(self.tenant(1))
        silent[0].expect("Goodbye", reason=GOODBYE_TOO_MANY)


class Restarts(DaemonCase):
    def test_tenants_are_adopted_as_they_are(self):
        self.start()
        client = self.tenant(1)
        client.want()
        client.expect_open()
        self.daemon.end(signal.SIGKILL)
        client.expect_end()

        self.start()  # over what the other left behind
        holder = self.connect()
        holder.join(1, program=b"holder")
        holder.use(GPU, flags=GATE_OPEN, used_ns=5_000_000_000)
        grant = holder.expect_open()
        other = self.tenant(2)
        other.want()
        holder.expect_close(grant)
        holder.drained(grant, waiting=0)
        other.expect_open()
        tenants = {one["name"]: one for one in self.ask(command="status")["tenants"]}
        self.assertGreaterEqual(tenants["holder"]["gpus"][0]["used_s"], 5)

    def test_two_open_gates_become_one(self):
        self.start()
        first, second = self.connect(), self.connect()
        first.join(1)
        first.use(GPU, flags=GATE_OPEN)
        grant = first.expect_open()
        second.join(2)
        second.use(GPU, flags=GATE_OPEN)
        late = second.expect("Close").grant
        self.assertNotEqual(late, grant)
        second.drained(late, waiting=1)
        first.expect_close(grant)
        first.drained(grant)
        second.expect_open()

    def test_settings_outlive_the_daemon(self):
        self.start()
        self.tenant(1)
        self.ask(command="set", gpu="all", mode="serial", window_ms=5)
        self.daemon.end(signal.SIGKILL)
        self.start("--window", "50ms")
        self.tenant(1)
        gpu = self.ask(command="status")["gpus"][0]
        self.assertEqual((gpu["mode"], gpu["window_ms"]), ("serial", 5))


if __name__ == "__main__":
    unittest.main()
