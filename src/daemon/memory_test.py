#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What nvshare-scheduler makes of the memory of GPUs that NVML knows: the real program with an NVML
that says what a file says.

usage: FAKE_NVML=LIBRARY NVSHARECTL=PROGRAM memory_test.py SCHEDULER [UNITTEST_ARGUMENT...]
"""

import json
import mmap
import os
import struct
import subprocess
import time
import unittest

from admin_ask import ask_admin
from daemon_case import DaemonCase
from wire_client import LIMITS_OF_RUN, MEMORY_OF_RUN, PATIENCE_S, encode

GIB = 1 << 30
UUID = "GPU-00000000-1122-3344-5566-778899aabbcc"
GPU = bytes.fromhex("00000000112233445566778899aabbcc")
OTHER_GPU = bytes.fromhex("00000001112233445566778899aabbcc")
SIZE = 15 * GIB  # without what the driver keeps
VISIBLE = SIZE - SIZE // 6
NUMBER = 1  # of GPU, by the daemon
UNLIMITED = (1 << 64) - 1


class Account:
    """The books of a tenant's memory, as its processes have them (src/wire/memory_account.h)."""

    LIMITS, SLOTS, GPUS = 8, 8 + 8 * 64, 64

    def __init__(self, message, file):
        self.slot, self.inode = message.slot, os.fstat(file).st_ino
        self.file = mmap.mmap(file, message.bytes)
        os.close(file)

    def word(self, offset, code="<Q"):
        return struct.unpack_from(code, self.file, offset)[0]

    def limit(self, gpu=NUMBER):
        return self.word(self.LIMITS + 8 * gpu)

    def place(self, slot, gpu=NUMBER):
        return self.SLOTS + 8 * (self.GPUS * slot + gpu)

    def used(self, slot, gpu=NUMBER):
        return self.word(self.place(slot, gpu))

    def use(self, used, gpu=NUMBER):
        struct.pack_into("<Q", self.file, self.place(self.slot, gpu), used)

    @property
    def lock(self):
        return self.word(0, "<I")

    @lock.setter
    def lock(self, value):
        struct.pack_into("<I", self.file, 0, value)


class MemoryCase(DaemonCase):
    def start(self, *arguments, free=SIZE):
        self.free_file = self.folder.with_name("free")
        self.set_free(free)
        nvml = {"NVSHARE_NVML": os.environ["FAKE_NVML"]}
        nvml["NVSHARE_FAKE_NVML_FREE"] = str(self.free_file)
        self.processes_file = self.folder.with_name("processes")
        self.set_processes()
        nvml["NVSHARE_FAKE_NVML_PROCESSES"] = str(self.processes_file)
        return super().start("--host-memory", "512MiB", *arguments, **nvml)

    def set_free(self, free):
        self.replace(self.free_file, str(free))

    def set_processes(self, *lines):
        self.replace(self.processes_file, "\n".join(lines))

    def replace(self, file, text):
        new = file.with_suffix(".new")
        new.write_text(text)
        new.rename(file)

    def gpu(self, uuid=UUID):
        return next(gpu for gpu in self.ask(command="status")["gpus"] if gpu["uuid"] == uuid)

    def tenant(self, *arguments):
        client = super().tenant(*arguments)
        client.ignored = ("Allow",)  # the core's business
        return client

    def nvsharectl(self, *arguments, code=0):
        command = [os.environ["NVSHARECTL"], "--folder", str(self.folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def status_of(self, number=0):
        return self.ask(command="status")["tenants"][number]

    def wait_for(self, is_so):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def wait_for_capacity(self, capacity):
        end = time.monotonic() + PATIENCE_S
        while self.gpu()["capacity_bytes"] != capacity:
            self.assertLess(time.monotonic(), end, self.gpu())
            time.sleep(0.01)


class Memory(MemoryCase):
    def test_what_is_there_is_shown_measured_and_limited(self):
        self.start()
        client = self.tenant(1, GPU)
        client.expect("Visible", ordinal=0, total=VISIBLE, limit=VISIBLE)
        client.send("UseGpu", ordinal=0, uuid=GPU)
        client.expect("GpuKnown")
        held = {"resident": 2 * GIB, "away": GIB, "fixed": GIB, "clean": 5, "host": 7}
        client.send("Holds", ordinal=0, **held)
        client.ping(1)  # said once, and nothing is limited
        gpu, [use] = self.gpu(), self.ask(command="status")["tenants"][0]["gpus"]
        self.assertEqual((gpu["memory_bytes"], gpu["visible_bytes"]), (SIZE, VISIBLE))
        keys = ("memory", "resident", "swapped", "fixed", "clean", "host")
        seen = [use[f"{key}_bytes"] for key in keys]
        self.assertEqual(seen, [4 * GIB, 2 * GIB, GIB, GIB, 5, 7])

        self.set_free(SIZE - 5 * GIB)  # of which the client has told 3
        self.wait_for_capacity(SIZE - 2 * GIB)
        self.assertEqual(self.gpu()["other_bytes"], 2 * GIB)

        other = self.tenant(2, GPU)
        reach = self.gpu()["capacity_bytes"] - GIB  # which the first one holds for good
        total = other.expect("Visible", limit=reach).total
        other.send("Holds", ordinal=0, away=6 * GIB)
        client.send("Holds", ordinal=0, **held, asked=4 * GIB)
        # With the host memory, less one segment for each of both and one that they exchange.
        left = self.gpu()["capacity_bytes"] + (5 << 26) - 10 * GIB
        client.expect("Visible", total=VISIBLE, limit=4 * GIB + left)
        other.expect("Visible", total=total, limit=6 * GIB + left)
        client.send("Holds", ordinal=0, **held)
        client.expect("Visible", total=VISIBLE, limit=VISIBLE)
        other.expect("Visible", total=total, limit=reach)

    def test_what_the_driver_has_is_shown_where_nvml_tells(self):
        self.start()
        client = self.tenant(1, GPU)
        client.ignored = ("Allow", "Visible", "Open")
        client.send("Holds", ordinal=0, resident=2 * GIB, away=GIB, fixed=GIB)
        client.want()
        client.ping(1)
        shown = lambda: self.status_of()["gpus"][0]["driver_bytes"]
        self.assertIsNone(shown(), "nobody is listed")
        self.set_processes(f"0 {os.getpid()} {7 * GIB}", f"0 1 {GIB}", f"1 {os.getpid()} {GIB}")
        self.wait_for(lambda: shown() == 4 * GIB)
        self.set_processes(f"0 {os.getpid()} {2 * GIB}")
        self.wait_for(lambda: shown() == 0)
        self.assertRegex(self.nvsharectl("status"), rf"1 +test +{NUMBER} +1.0GiB +1.0GiB +0\n")
        self.set_processes(f"0 {os.getpid()} -1")
        self.wait_for(lambda: shown() is None)

    def test_processes_of_one_tenant_share_what_one_could_have(self):
        self.start()
        first, second = self.tenant(1, GPU), self.tenant(1, GPU)
        for client in (first, second):
            client.expect("Visible", total=VISIBLE, limit=VISIBLE)
        first.send("Holds", ordinal=0, resident=10 * GIB)
        second.expect("Visible", total=VISIBLE, limit=SIZE - 10 * GIB)

    def test_what_moves_is_in_the_trace(self):
        self.start()
        client = self.tenant(1, GPU)
        client.send("Holds", ordinal=0, resident=2 * GIB, fixed=3)
        client.send("Holds", ordinal=0, resident=GIB, away=GIB, fixed=3, clean=5)
        client.expect("Visible")
        client.ping(1)
        trace = self.ask(command="trace", seconds=60)
        levels = {"resident": GIB, "swapped": GIB, "clean": 5, "fixed": 3}
        last = trace["memory"][-1]
        self.assertEqual({name: last[f"{name}_bytes"] for name in levels}, levels)
        [move] = trace["moves"]
        self.assertEqual((move["way"], move["bytes"]), ("out", GIB))
        self.assertGreaterEqual(move["end_us"], last["at_us"], "by one clock")

        events = json.loads(self.nvsharectl("trace", "-o", "-", "--seconds", "0.1"))["traceEvents"]
        counters = [event for event in events if event["ph"] == "C"]
        latest = {event["name"]: event["args"]["bytes"] for event in counters}
        self.assertEqual(latest, {f"test (1) {name}": bytes for name, bytes in levels.items()})

    def test_a_gpu_can_be_treated_as_smaller(self):
        unknown = "GPU-99999999-1122-3344-5566-778899aabbcc"
        sizes = ("4GiB", f"{UUID}=6GiB", f"{unknown}=1GiB")
        self.start(*(f"--gpu-memory={size}" for size in sizes))
        log = "\n".join(self.daemon.log)
        self.assertRegex(log, f"names a GPU that was not found.*{unknown}")
        first, second = self.tenant(1, GPU), self.tenant(2, OTHER_GPU)
        first.expect("Visible", total=5 * GIB)
        second.expect("Visible", total=4 * GIB - 4 * GIB // 6)
        self.assertEqual(self.gpu()["capacity_bytes"], 6 * GIB)


class Limits(MemoryCase):
    def process(self, run, **hello):
        """Another process of a run, and its account, which comes before it hears of any GPU."""
        client = self.connect()
        client.ignored = ()
        client.send("Hello", run=run, program=b"test", **hello)
        client.send("UseGpu", ordinal=0, uuid=GPU)
        client.expect("Welcome")
        message, file = client.receive_with_file()
        self.assertEqual(message.name, "MemoryAccount")
        self.assertEqual(os.fstat(file).st_size, message.bytes)
        with self.assertRaises(OSError):
            os.ftruncate(file, 0)
        client.expect("GpuKnown", ordinal=0, known=1, gpu=NUMBER)
        client.ignored = ("Allow", "Visible")
        return client, Account(message, file)

    def test_processes_of_a_tenant_have_one_account(self):
        self.start()
        first, books = self.process(1, memory_limit=b"25%", core_limit=b"40")
        second, same = self.process(1, memory_limit=b"6Gi", flags=MEMORY_OF_RUN)
        _, other = self.process(2)
        self.assertEqual(books.inode, same.inode)
        self.assertNotEqual(books.slot, same.slot)
        self.assertNotEqual(books.inode, other.inode)
        self.assertEqual(books.limit(), SIZE // 4)
        self.assertEqual(books.limit(0), SIZE // 4, "on each GPU")
        self.assertEqual(other.limit(), UNLIMITED)
        limits = {one["id"]: one["limits"] for one in self.ask(command="status")["tenants"]}
        self.assertEqual(
            limits[1],
            {
                "memory": {"value": "6Gi and 25%", "source": "run"},
                "cores": {"value": "40", "source": "environment"},
            },
        )
        self.assertEqual(limits[2]["memory"], {"value": None, "source": "none"})
        for run, flags, cores in ((3, MEMORY_OF_RUN, "environment"), (4, LIMITS_OF_RUN, "run")):
            process, _ = self.process(run, memory_limit=b"1Gi", core_limit=b"20", flags=flags)
            limits = self.ask(command="status")["tenants"][-1]["limits"]
            self.assertEqual([one["source"] for one in limits.values()], ["run", cores])
            process.close()
        for client in (first, second):
            client.ping(1)

    def test_a_process_that_dies_leaves_nothing_behind(self):
        self.start()
        first, books = self.process(1)
        second, same = self.process(1)
        first.want()
        first.expect("Open")
        books.use(3 * GIB)
        same.use(2 * GIB)
        [use] = self.status_of()["gpus"]
        self.assertEqual((use["memory_used_bytes"], use["memory_limit_bytes"]), (5 * GIB, None))
        same.use(UNLIMITED)  # nonsense stays within bounds
        [use] = self.status_of()["gpus"]
        self.assertEqual(use["memory_used_bytes"], (1 << 50) + 3 * GIB)
        books.lock = same.slot + 1  # it dies with the lock
        second.close()
        self.wait_for(lambda: books.lock == 0)
        self.assertEqual(books.used(same.slot), 0)
        self.assertEqual(books.used(books.slot), 3 * GIB)
        _, third = self.process(1)
        self.assertEqual((third.slot, third.inode), (same.slot, books.inode))

    def test_an_administrator_changes_limits_while_it_runs(self):
        self.start("--memory-limit", "8Gi", "--core-limit", "50")
        client, books = self.process(1)
        self.assertEqual(books.limit(), 8 * GIB)
        self.ask(command="limit", tenant=1, memory="4G")
        self.assertEqual(books.limit(), 4_000_000_000)
        self.ask(command="limit", tenant=1, memory="none", cores=30)
        self.assertEqual(books.limit(), UNLIMITED)
        wrong = ask_admin(self.folder, PATIENCE_S, command="limit", tenant=1, memory="2Gi", cores=0)
        self.assertEqual((wrong["ok"], wrong["code"]), (False, "invalid"))
        self.assertEqual(books.limit(), UNLIMITED, "nothing of it was done")
        self.daemon.end()
        client.close()
        self.start("--memory-limit", "8Gi")
        _, books = self.process(1)
        self.assertEqual(books.limit(), UNLIMITED)
        limits = self.status_of()["limits"]
        self.assertEqual(limits["cores"], {"value": "30", "source": "admin"})
        self.ask(command="limit", tenant=1, memory="default", cores="default")
        self.assertEqual(books.limit(), 8 * GIB)
        self.assertEqual(self.status_of()["limits"]["cores"], {"value": None, "source": "none"})

    def test_nvsharectl_sets_and_shows_them(self):
        self.start("--core-limit", "50")
        client, books = self.process(1)
        client.want()
        client.expect("Open")
        books.use(3 * GIB)

        nvsharectl = self.nvsharectl
        nvsharectl("set", "memory", "4Gi", "test")
        self.assertEqual(books.limit(), 4 * GIB)
        nvsharectl("set", "cores", "40", "1")
        nvsharectl("set", "cores", "30", "nobody", code=3)
        status = nvsharectl("status")
        self.assertRegex(status, r"ID +TENANT +GPU +USE +LIMIT +CAP +10S +60S +THROTTLED\n")
        self.assertRegex(status, rf"1 +test +{NUMBER} +3\.0GiB +4\.0GiB ")
        limits = json.loads(nvsharectl("status", "-o", "json"))["tenants"][0]["limits"]
        self.assertEqual(limits["cores"], {"value": "40", "source": "admin"})
        nvsharectl("set", "memory", "default", "test")
        nvsharectl("set", "cores", "default", "test")
        self.assertEqual(books.limit(), UNLIMITED)
        limits = self.status_of()["limits"]
        self.assertEqual(limits["cores"], {"value": "50", "source": "default"})

    def test_a_limit_that_cannot_be_saved_is_in_force_and_a_failure(self):
        self.start()
        _, books = self.process(1)
        (self.folder / "state.json.new").mkdir()  # in the way of what is to be written
        self.nvsharectl("set", "memory", "4Gi", "test", code=1)
        self.assertEqual(books.limit(), 4 * GIB)
        self.daemon.wait_for_log("settings are in force but could not be saved")
        (self.folder / "state.json.new").rmdir()
        self.nvsharectl("set", "memory", "5Gi", "test")

    def test_what_is_not_understood_changes_nothing(self):
        self.start("--core-limit", "50")
        hostile = b'\xff\n"msg=x'
        client, books = self.process(1, memory_limit=hostile, core_limit=b"0")
        self.assertEqual(books.limit(), UNLIMITED)
        tenant = self.status_of()
        self.assertEqual(tenant["limits"]["cores"], {"value": "50", "source": "default"})
        self.assertEqual(len(tenant["limit_errors"]), 2)
        self.assertIn("'0'", tenant["limit_errors"][1])
        self.daemon.wait_for_log("limit not understood", "kind=core", "value=0")
        client.ping(1)

    def test_an_older_client_is_sent_none(self):
        self.start()
        hello = encode("Hello", version=1, run=1, program=b"old")[: -32 - 16]
        client = self.connect()
        client.ignored = ()
        client.send_bytes(hello[:4] + struct.pack("<I", len(hello)) + hello[8:])
        client.expect("Welcome")
        client.ping(1)
        _, books = self.process(1)
        self.assertEqual(books.slot, 0)
        client.close()
        self.daemon.wait_for_log("client left")
        self.assertEqual(len(self.status_of()["clients"]), 1)

    def test_shares_are_those_of_the_last_seconds(self):
        self.start()
        client = self.tenant(1, GPU)
        client.want()
        client.ignored = ("Visible", "Allow")
        client.expect("Open")
        share = lambda: self.status_of()["gpus"][0]["share_10s"]
        self.wait_for(lambda: (share() or 0) > 0.3)
        self.assertLessEqual(share(), 1.001)


if __name__ == "__main__":
    unittest.main()
