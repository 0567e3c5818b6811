#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hundred tenants that come, allocate, are resized and end in random order: at every step status
says what each of them has, nobody gets more than its limit, and in the end the books are at zero.

usage: limit_books_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]

NVSHARE_SEED draws another order.
"""

import json
import os
import random
import re
import sys
import unittest

from fault_case import SIGKILL, open_files
from scrape import scrape
from tenant import PATIENCE_S
from told_case import MIB, NVML, Told

SEED = int(os.environ.get("NVSHARE_SEED", "6"))
TENANTS = 100
AT_ONCE = 12
PIECE_MAX = 12 * MIB
UNITS = {"plain": 1, "managed": 1, "async": 1, "pool": 1, "pitched": 1000, "created": 2 * MIB}
# What an allocation asks of the driver, where one may die. What is small enough shares a chunk that
# is there already.
DEATHS = (
    ("plain", "cuMemAddressReserve"),
    ("plain", "cuMemCreate"),
    ("plain", "cuMemMap"),
    ("plain", "cuMemSetAccess"),
    ("managed", "cuMemAllocManaged"),
    ("async", "cuMemCreate"),
    ("created", "cuMemCreate"),
)
DEATH_SIZE = 6 * MIB
CHURNING = ("churn", "up", "count", "below", "count")


class Guest:
    """A tenant, and what it must have by all that it was told and answered."""

    def __init__(self, tenant, steps):
        self.tenant = tenant
        self.steps = steps  # what is still to happen to it
        self.has_begun = False
        self.pieces = []
        self.limit = None
        self.writes = 0
        self.churns = 0  # bytes that it takes and gives all the time
        self.spells = 0  # in which it does

    def has(self):
        return sum(self.pieces)

    def may_take(self, size):
        return self.limit is None or self.has() + size <= self.limit

    def may_have(self):
        """What status may say. What is asked for counts until it is refused."""
        return {self.has(), self.has() + self.churns}


class Books(Told):
    scale = 128  # 116 MiB: often they do not fit together
    window = "5ms"
    daemon_options = ("--metrics", "127.0.0.1:0", "--turn", "100ms", "--host-memory", "2GiB")

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.guests = []
        self.history = []
        self.lent = 0  # the most that was in host memory

    # What the administrator has.

    def told(self):
        """The whole status, as people get it."""
        return json.loads(self.nvsharectl("status", "-o", "json"))

    def set_limit(self, guest, limit):
        guest.limit = limit
        (row,) = (row for row in self.rows() if row["clients"][0]["pid"] == guest.tenant.pid)
        self.nvsharectl("set", "memory", "none" if limit is None else str(limit), str(row["id"]))

    def rows(self):
        return self.status()["tenants"]

    # What happens to tenants.

    def come(self):
        steps = ["take", "write", "up", "take", "down", "write", "below", "give"]
        self.random.shuffle(steps)
        end = self.random.choice(("leave", "kill", "die", "die", "churn"))
        steps += [*CHURNING, "kill"] if end == "churn" else [end]
        self.guests.append(Guest(self.tenant("limits", NVML), ["begin", "take", *steps]))

    def begin(self, guest):
        guest.tenant.wait_for_line("ready")
        self.wait_until(lambda: self.on_gpu(guest.tenant), "it in status")
        guest.has_begun = True

    def take(self, guest):
        way = self.random.choice(list(UNITS))
        size = UNITS[way] * self.random.randint(2, PIECE_MAX // UNITS[way])
        self.take_some(guest, way, size)

    def take_some(self, guest, way, size):
        """Given if its limit allows it, and only then."""
        given = super().take(guest.tenant, way, size)
        self.assertEqual(given, guest.may_take(size), (way, size, guest.has(), guest.limit))
        if given:
            guest.pieces.append(size)

    def give(self, guest):
        if guest.pieces:
            super().give(guest.tenant)
            guest.pieces.pop()

    def write(self, guest):
        guest.writes += 1
        guest.tenant.say("write")
        guest.tenant.wait_for_line("wrote", guest.writes)

    def up(self, guest):
        self.resize(guest, guest.has() + self.random.randint(1, 2 * PIECE_MAX))

    def down(self, guest):
        """To what it has, or a bit more."""
        self.resize(guest, max(guest.has() + self.random.choice((0, 1, 1000, MIB)), 1))

    def below(self, guest):
        """What it has stays, and it gets no more until it has given enough back."""
        self.fill(guest)
        self.resize(guest, self.random.randint(1, guest.has() - 1))

    def resize(self, guest, limit):
        """In force when nvsharectl is done: what is asked for next is judged by it."""
        self.set_limit(guest, limit)
        room = limit - guest.has()
        if guest.churns:
            # What it was asking for meanwhile is judged by either.
            self.stop_churning(guest)
            self.start_churning(guest)
            return
        self.take_some(guest, "plain", max(room + 1, 1))
        if room > 0:
            self.take_some(guest, "plain", room)
            self.give(guest)

    def fill(self, guest):
        if not guest.pieces:
            self.set_limit(guest, None)
            self.take(guest)

    def churn(self, guest):
        self.fill(guest)
        guest.churns = self.random.randint(1, PIECE_MAX)
        self.start_churning(guest)

    def count(self, guest):
        """All that it asked for since its limit changed was given, or nothing of it."""
        asked, given = self.stop_churning(guest)
        self.assertGreater(asked, 0)
        self.assertEqual(given, asked if guest.may_take(guest.churns) else 0, guest.tenant)
        self.start_churning(guest)

    def start_churning(self, guest):
        guest.spells += 1
        guest.tenant.say(f"churn {guest.churns}")
        guest.tenant.wait_for_line("begun", guest.spells)

    def stop_churning(self, guest):
        guest.tenant.say("enough")
        return map(int, guest.tenant.wait_for_line("churned", guest.spells).split()[1:])

    # How they end.

    def leave(self, guest):
        guest.tenant.finish()
        self.forget(guest)

    def kill(self, guest):
        guest.tenant.kill()
        self.forget(guest)

    def die(self, guest):
        """In the middle of an allocation."""
        way, call = self.random.choice(DEATHS)
        self.set_limit(guest, None)
        guest.tenant.say(f"die {call} {way} {DEATH_SIZE}")
        self.assertEqual(guest.tenant.process.wait(PATIENCE_S), -SIGKILL, guest.tenant)
        self.forget(guest)

    def forget(self, guest):
        self.guests.remove(guest)
        self.wait_until_forgotten(guest.tenant)
        guest.tenant.end()

    # What must be so.

    def check_books(self):
        """Those who have begun are there with all they have, and nobody else is."""
        status = self.told()
        told = {row["clients"][0]["pid"]: row for row in status["tenants"]}
        living = {guest.tenant.pid for guest in self.guests}
        self.assertLessEqual(set(told), living, "tenants that are gone")
        for guest in self.guests:
            if not guest.has_begun:
                continue
            (on,) = told[guest.tenant.pid]["gpus"]
            self.assertIn(on["memory_used_bytes"], guest.may_have(), guest.tenant)
            self.assertEqual(on["memory_limit_bytes"], guest.limit, guest.tenant)
        self.lent = max(self.lent, status["host_memory"]["held_bytes"])

    def has_zero_books(self):
        status = self.told()
        host = status["host_memory"]
        lent = sum(host[f"{what}_bytes"] for what in ("held", "kept", "promised", "freeing"))
        return not status["tenants"] and not host["tenants"] and lent == 0

    def has_zero_metrics(self):
        samples = scrape(self.port())
        counts = ("nvshare_tenants", "nvshare_clients", "nvshare_host_memory_lent_bytes")
        if any(samples.value(name) != 0 for name in counts):
            return False
        return not any(name.startswith("nvshare_tenant_") for name, _, _ in samples.samples)

    def port(self):
        return int(re.search(r'msg="metrics are served" port=(\d+)', self.log_text())[1])

    def descriptors(self):
        """All but host memory that the daemon has ready, for which it has books."""
        files = open_files(self.daemon.pid)
        return sum(not name.startswith("/memfd:nvshare ") for name in files)

    def run_all(self):
        to_come = TENANTS
        while to_come or self.guests:
            if to_come and (not self.guests or len(self.guests) < self.random.randint(1, AT_ONCE)):
                self.come()
                to_come -= 1
                continue
            guest = self.random.choice(self.guests)
            step = guest.steps.pop(0)
            self.history.append((guest.tenant.pid, step))
            getattr(self, step)(guest)
            self.check_books()

    def test_of_a_hundred_tenants(self):
        self.wait_until(self.has_zero_metrics, "metrics of nobody")
        at_first = self.descriptors()
        try:
            self.run_all()
        except BaseException:
            print(f"seed {SEED}, step {len(self.history)}: {self.history[-20:]}", file=sys.stderr)
            raise
        self.assertGreater(self.lent, 0, "all of them fitted, all the time")
        self.wait_until(self.has_zero_books, "books at zero", self.told)
        self.wait_until(self.has_zero_metrics, "metrics of nobody", lambda: scrape(self.port()))
        self.check_segments()
        self.wait_until(
            lambda: self.descriptors() <= at_first,
            "descriptors closed",
            lambda: sorted(open_files(self.daemon.pid)),
        )


if __name__ == "__main__":
    unittest.main()
