#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits on a tenant's memory: to the byte, on every way to allocate, over all its processes, and
changed while they run.

usage: limit_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import mmap
import os
import socket
import struct
import unittest

from fault_case import SIGCONT, SIGKILL, SIGSTOP
from swap_daemon import ALL, ScriptedDaemon
from told_case import GIB, MIB, NVML, Told
from wire_client import encode

# Sizes that every way takes as they are: units of VMM memory, and rows of 1000 bytes.
SIZE = 2 * MIB * 125
WAYS = ("plain", "pitched", "managed", "async", "pool", "created", "native")
GRAPH_WAYS = ("graph", "graph_twice", "capture", "left")
VMM_WAYS = ("created", "native")
OLD_DRIVER = {"NVSHARE_SIM_WITHOUT": "vmm"}


class Account:
    """The books of a tenant's memory, as the daemon has them (src/wire/memory_account.h)."""

    GPUS, SLOTS = 64, 1024
    BYTES = 8 + 8 * GPUS * (1 + SLOTS)
    UNLIMITED = (1 << 64) - 1

    def __init__(self, limit=UNLIMITED):
        self.file = os.memfd_create("account", os.MFD_CLOEXEC)
        os.truncate(self.file, self.BYTES)
        self.words = mmap.mmap(self.file, self.BYTES)
        self.words[4:8] = struct.pack("<I", 2)  # slots
        self.set_limit(limit)

    def end(self):
        self.words.close()
        os.close(self.file)

    def set_limit(self, limit):
        self.words[8 : 8 + 8 * self.GPUS] = struct.pack("<Q", limit) * self.GPUS

    def place(self, slot, gpu):
        return 8 + 8 * self.GPUS * (1 + slot) + 8 * gpu

    def used(self, slot=0, gpu=0):
        return struct.unpack_from("<Q", self.words, self.place(slot, gpu))[0]

    def use(self, size, slot=1, gpu=0):
        struct.pack_into("<Q", self.words, self.place(slot, gpu), size)


class Scripted(ScriptedDaemon, Told):
    """The daemon is a script: the limit is what it writes, whatever the client says."""

    visible = 2 * GIB - 3

    def start_daemon(self):
        super().start_daemon()
        self.account = Account()
        self.addCleanup(self.account.end)

    def begin(self, gpu=0, **variables):
        tenant = self.tenant("limits", NVML, **variables)
        self.meet(gpu)
        tenant.wait_for_line("ready")
        return tenant

    def meet(self, gpu=0, file=None, slot=0):
        """As greet(), with an account in the place that the daemon sends it."""
        daemon = self.daemon
        daemon.meet_again()
        account = file or self.account
        packet = encode("MemoryAccount", slot=slot, bytes=account.BYTES)
        socket.send_fds(daemon.client, [packet], [account.file])
        daemon.expect("UseGpu")
        daemon.send("Visible", ordinal=0, total=self.visible, limit=self.visible)
        daemon.send("GpuKnown", ordinal=0, known=1, gpu=gpu)
        daemon.allow(ALL)
        daemon.open()

    def check_way(self, tenant, way, gpu=0):
        with self.subTest(way=way):
            had = self.account.used(gpu=gpu)
            unit = 2 * MIB if way in VMM_WAYS else 1000 if way == "pitched" else 1
            self.account.set_limit(had + SIZE - 1)
            self.assertFalse(self.take(tenant, way, SIZE))
            self.assertEqual(self.account.used(gpu=gpu), had)
            self.account.set_limit(had + SIZE)
            self.assertTrue(self.take(tenant, way, SIZE))
            self.assertEqual(self.account.used(gpu=gpu), had + SIZE)
            self.assertFalse(self.take(tenant, way, unit))
            self.assertEqual(self.account.used(gpu=gpu), had + SIZE)
            self.give(tenant)
            self.assertEqual(self.account.used(gpu=gpu), had)
            self.account.set_limit(had + 100)
            if unit == 1:  # small ones share a chunk, and count as what they are
                self.assertFalse(self.take(tenant, way, 101))
                self.assertTrue(self.take(tenant, way, 100))
                self.assertEqual(self.account.used(gpu=gpu), had + 100)
                self.give(tenant)
            self.account.set_limit(Account.UNLIMITED)

    def test_every_way_is_refused_at_one_byte_more(self):
        tenant = self.begin(gpu=7)
        self.assertEqual(self.account.used(gpu=0), 0)
        for way in WAYS + GRAPH_WAYS:
            self.check_way(tenant, way, gpu=7)
        tenant.finish()

    def test_what_a_graph_leaves_is_nothing_more_than_the_graph(self):
        tenant = self.begin()
        had = self.account.used()
        self.account.set_limit(had + 2 * SIZE)
        self.assertTrue(self.take(tenant, "left", SIZE))
        self.assertEqual(self.account.used(), had + SIZE)
        self.assertTrue(self.take(tenant, "graph", SIZE))
        self.assertFalse(self.take(tenant, "plain", 1))
        self.give(tenant)
        self.assertTrue(self.take(tenant, "plain", SIZE))
        self.give(tenant)
        self.give(tenant)
        self.assertEqual(self.account.used(), had)
        tenant.finish()

    def test_unified_memory_too(self):
        tenant = self.begin(NVSHARE_ENABLE_SINGLE_OVERSUB="1")
        for way in ("plain", "pitched", "async"):
            self.check_way(tenant, way)
        tenant.finish()

    def test_a_driver_without_vmm(self):
        tenant = self.begin(**OLD_DRIVER)
        for way in ("plain", "pitched", "managed"):
            self.check_way(tenant, way)
        tenant.finish()

    def test_programs_see_the_limit(self):
        tenant = self.begin()
        own = self.account.used()  # what the program began with
        total, free = self.sizes(tenant)
        self.assertEqual(total, self.visible)
        self.account.set_limit(GIB + 1)
        self.assertEqual(self.sizes(tenant), (GIB + 1, GIB + 1 - own))
        self.account.use(5000)  # another process of the tenant
        self.assertEqual(self.sizes(tenant), (GIB + 1, GIB + 1 - own - 5000))
        self.assertTrue(self.take(tenant, "managed", 12345))
        self.assertEqual(self.sizes(tenant), (GIB + 1, GIB + 1 - own - 5000 - 12345))
        self.account.set_limit(own + 12344)  # less than there is
        self.assertEqual(self.sizes(tenant), (own + 12344, 0))
        self.assertFalse(self.take(tenant, "plain", 1))
        self.account.set_limit(4 * GIB)
        self.assertEqual(self.sizes(tenant)[0], self.visible)
        tenant.finish()

    def test_a_limit_that_is_raised_is_there_at_once(self):
        tenant = self.begin()
        self.account.set_limit(self.account.used())
        tenant.say(f"until {SIZE}")
        tenant.wait_for_line("begun")
        self.account.set_limit(self.account.used() + SIZE)
        self.daemon.serve_while(lambda: not any(line == "took 0" for line in tenant.lines))
        tenant.finish()

    def test_another_daemon_counts_what_there_is(self):
        tenant = self.begin()
        self.assertTrue(self.take(tenant, "plain", SIZE))
        own = self.account.used()
        later = Account(own + SIZE)
        self.addCleanup(later.end)
        self.daemon.client.close()
        self.meet(gpu=3, file=later, slot=1)
        self.daemon.expect("Holds")
        self.wait_until(lambda: later.used(slot=1, gpu=3) == own, "what there is")
        self.assertFalse(self.take(tenant, "plain", SIZE + 1))
        self.assertTrue(self.take(tenant, "plain", SIZE))
        self.assertEqual(later.used(slot=1, gpu=3), own + SIZE)
        self.assertEqual(self.account.used(), own)
        tenant.finish()

    def test_limits_outlive_the_daemon(self):
        tenant = self.begin()
        self.assertTrue(self.take(tenant, "plain", 1))  # by then it has heard all
        self.account.set_limit(self.account.used() + SIZE)
        self.daemon.end()
        self.assertFalse(self.take(tenant, "plain", SIZE + 1))
        self.assertTrue(self.take(tenant, "plain", SIZE))
        tenant.finish()


class Shared(Told):
    """The real daemon, and processes of one tenant."""

    run_number = "abc1"

    def process(self, run=run_number):
        tenant = self.tenant("limits", NVML, NVSHARE_RUN=run)
        tenant.wait_for_line("ready")
        return tenant

    def seen_by_smi(self, run):
        """By one that has no CUDA and only asks NVML: total, free, used."""
        smi = self.tenant("smi", NVML, NVSHARE_RUN=run)
        seen = [int(word) for word in smi.wait_for_line("sizes").split()[1:]]
        smi.check_ok()
        return seen

    def wait_for_smi(self, run, seen):
        """One whose question the daemon does not answer at once sees the GPU as it is."""
        self.wait_until(lambda: self.seen_by_smi(run) == seen, f"{seen} seen by one that looks")

    def set_limit(self, tenant, limit):
        self.ask(command="limit", tenant=self.row_of(tenant)["id"], memory=limit)

    def used(self, tenant):
        return self.on_gpu(tenant)["memory_used_bytes"]

    def test_two_processes_share_it_to_the_byte(self):
        first, second = self.process(), self.process()
        stranger = self.process(run="abc2")
        own = self.used(first)
        self.set_limit(first, str(own + GIB))
        self.assertTrue(self.take(first, "plain", GIB // 2))
        self.assertFalse(self.take(second, "graph", GIB // 2 + 1))
        self.assertFalse(self.take(second, "managed", GIB // 2 + 1))
        self.assertTrue(self.take(second, "managed", GIB // 2))
        self.assertEqual(self.used(first), own + GIB)
        for tenant in (first, second):
            self.assertEqual(self.sizes(tenant), (own + GIB, 0))
            self.assertFalse(self.take(tenant, "plain", 1))
        self.wait_for_smi(self.run_number, [own + GIB, 0, own + GIB])
        self.give(second)
        self.wait_for_smi(self.run_number, [own + GIB, GIB // 2, own + GIB // 2])
        self.assertTrue(self.take(first, "async", GIB // 2))
        self.assertTrue(self.take(stranger, "plain", GIB // 2))
        self.set_limit(first, "none")
        # Without a limit: as large as to those who use it, less what one's own tenant has.
        total = self.sizes(stranger)[0]
        for tenant, run in ((first, self.run_number), (stranger, "abc2")):
            used = self.used(tenant)
            self.assertGreater(used, 0)
            self.wait_for_smi(run, [total, total - used, used])
        self.assertTrue(self.take(second, "plain", GIB // 4))
        self.finish(first, second, stranger)

    def test_what_one_had_who_is_killed_is_free(self):
        first, second = self.process(), self.process()
        own = self.used(first)
        self.set_limit(first, str(own + SIZE))
        self.assertTrue(self.take(first, "plain", SIZE))
        self.assertFalse(self.take(second, "plain", SIZE))
        first.send(SIGKILL)
        self.wait_until(lambda: self.take(second, "plain", SIZE), "what the first one had")
        self.finish(second)

    def test_one_that_is_stopped_counts_and_holds_nobody_up(self):
        first, second = self.process(), self.process()
        own = self.used(first)
        self.set_limit(first, str(own + SIZE))
        self.assertTrue(self.take(first, "plain", SIZE - 5))
        first.send(SIGSTOP)
        self.assertFalse(self.take(second, "plain", 6))
        self.assertTrue(self.take(second, "plain", 5))
        first.send(SIGCONT)
        self.finish(first, second)

    def test_the_daemon_is_restarted(self):
        first, second = self.process(), self.process()
        own = self.used(first)
        self.set_limit(first, str(own + SIZE))
        self.assertTrue(self.take(first, "plain", SIZE - 5))
        self.kill_daemon()
        self.start_daemon()
        # When both are back.
        self.wait_until(
            lambda: self.on_gpu(second) and self.used(second) == own + SIZE - 5, "what they have"
        )
        self.assertFalse(self.take(second, "plain", 6))
        self.assertTrue(self.take(second, "plain", 5))
        self.finish(first, second)


class Elsewhere(Told):
    """Two GPUs, of which the tenant has a context on one."""

    gpus = 2

    def test_a_pool_of_a_gpu_without_a_context_counts(self):
        tenant = self.tenant("limits", NVML, NVSHARE_GPU_MEMORY_LIMIT=str(SIZE))
        tenant.wait_for_line("ready")
        self.assertFalse(self.take(tenant, "elsewhere", SIZE + 1))
        self.assertTrue(self.take(tenant, "elsewhere", SIZE))
        self.assertEqual(self.on_gpu(tenant, gpu=1)["memory_used_bytes"], SIZE)
        self.assertFalse(self.take(tenant, "elsewhere", 1))
        self.give(tenant)
        self.assertTrue(self.take(tenant, "elsewhere", SIZE))
        tenant.finish()

    def test_what_is_seen_of_a_gpu_without_a_context(self):
        tenant = self.tenant("limits", NVML, NVSHARE_GPU_MEMORY_LIMIT=str(SIZE))
        tenant.wait_for_line("ready")
        seen = []

        def is_limited():
            tenant.say("elsewhere")
            seen.append(tenant.wait_for_line("sizes", len(seen) + 1))
            return seen[-1] == f"sizes {SIZE} {SIZE}"

        self.wait_until(is_limited, "the limit seen by NVML")
        tenant.finish()


if __name__ == "__main__":
    unittest.main()
