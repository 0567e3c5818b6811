#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenants that are killed at every step of an exchange, and the daemon while one of them is in such
a step, beside one tenant whose memory has to leave for theirs and whose data must be right in the
end; and tenants that come when there is no memory left.

A step is a call of the driver by one of the library's threads. Those that an exchange makes are
recorded first; then each one is the last of some tenant. The daemon dies in some of them, and of
what is made in long rows some tenant dies in the first and the last; NVSHARE_KILLS=all means all,
in some minutes.

usage: exchange_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import collections
import os
import signal
import sys
import unittest

from exchange import LIBRARY, ExchangeCase, is_stopped
from fault_case import SIGCONT

ALL_KILLS = os.environ.get("NVSHARE_KILLS") == "all"
RECORDED = 12 if ALL_KILLS else 2  # exchanges, at least, in which calls are counted
GROUP = 4
# Of how the library gets ready for its first exchange. Each is made once, or in a row; where the
# machine is slow, some are still made while memory moves.
PREPARES = (
    "cuStreamCreate",
    "cuEventCreate",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuMemAlloc_v2",
    "cuMemHostAlloc",
    "cuMemHostRegister_v2",
)
# In which the driver is told of a segment of 64 MiB; one more where it lies across their bounds.
SEGMENT_PIECES = 8
# Of an exchange, whatever else there is.
MOVES = (
    "cuLaunchKernel",
    "cuMemcpyDtoHAsync_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuMemUnmap",
    "cuMemRelease",
    "cuMemCreate",
    "cuMemMap",
    "cuMemSetAccess",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
)
# The drain's; it asks until there is nothing left.
ASKS = ("cuEventQuery", "cuThreadExchangeStreamCaptureMode", "cuCtxSynchronize")


class Exchange(ExchangeCase):
    def record(self):
        """How often each call is made in one exchange, out and in; and in preparing for it."""
        file = self.folder.parent / "calls"
        others = [self.victim() for _ in range(GROUP - 1)]  # so that all of it has to leave
        tenant = self.victim(NVSHARE_SIM_CALLS_FILE=str(file))
        tenant.wait_for_line("ready")
        calls = lambda: calls_in(file)
        exchange = self.wait_until(lambda: whole_exchange(calls()), "a whole exchange")
        self.wait_until(lambda: set(PREPARES) <= set(calls()), "all that is prepared aside", calls)
        for one in (tenant, *others):
            one.kill()
        made = calls()
        prepares = collections.Counter(call for call in made if call in PREPARES)
        self.assertEqual(sorted(prepares), sorted(PREPARES))
        told = prepares["cuMemHostRegister_v2"]
        prepares["cuMemHostRegister_v2"] = min(told, SEGMENT_PIECES)
        return prepares, exchange

    def check_group(self, innocent, victims):
        """Each (call, number): whoever makes that call dies in it."""
        tenants = []
        for call, number, is_first in victims:
            fail = f"{call}@{LIBRARY}:{number}:1:kill" if is_first else ""
            tenants.append(self.victim(NVSHARE_SIM_FAIL=fail))
        for tenant, (call, number, is_first) in zip(tenants, victims):
            if not is_first:
                tenant.wait_for_line("ready")
                self.wait_for_exchange(tenant)
                tenant.say(f"arm {call}@{LIBRARY} {number} 1 {-signal.SIGKILL}")
        for tenant, (call, number, _) in zip(tenants, victims):
            self.wait_until(
                lambda: tenant.process.poll() is not None,
                f"a death in {call} {number}: {tenant}",
                self.status,
            )
            self.assertEqual(tenant.process.returncode, -signal.SIGKILL, tenant)
        innocent.wait_for_progress(1)

    def test_a_tenant_dies_at_every_step(self):
        innocent = self.innocent()
        prepares, exchange = self.record()
        steps = [(call, n, True) for call in prepares for n in some_of(prepares[call])]
        steps += [
            (call, n, False)
            for call in exchange
            if call not in PREPARES
            for n in (ends_of if call in ASKS else range)(exchange[call])
        ]
        print(f"{len(steps)} tenants die", file=sys.stderr)
        for at in range(0, len(steps), GROUP):
            self.check_group(innocent, steps[at : at + GROUP])
        self.check_only(innocent)
        self.finish(innocent)

    def test_the_daemon_dies_while_memory_moves(self):
        """In each call, of one tenant or the other one, the first or the last in an exchange. All
        memory of both has to leave."""
        files = [self.folder.parent / name for name in ("innocent", "other")]
        innocent, other = (
            self.tenant("mixed", 9, 2, NVSHARE_SIM_CALLS_FILE=str(file)) for file in files
        )
        innocent.wait_for_line("ready")
        other.wait_for_line("ready")
        made = [self.count_calls(file) for file in files]
        if ALL_KILLS:
            steps = [
                (tenant, call, number)
                for tenant, calls in zip((innocent, other), made)
                for call in calls
                for number in range(calls[call])
            ]
        else:
            steps = [(other, call, 0) for call in MOVES[::2]]
            steps += [(innocent, call, made[0][call] - 1) for call in MOVES[1::2]]
        print(f"{len(steps)} daemons die", file=sys.stderr)
        for tenant, call, number in steps:
            self.kill_daemon_in(tenant, call, number)
            self.check_goes_on(innocent, other)
        self.finish(other)
        self.check_only(innocent)
        self.finish(innocent)

    def count_calls(self, file):
        count = lambda: most_in_exchanges(calls_in(file))
        return self.wait_until(count, "exchanges", self.status)

    def kill_daemon_in(self, tenant, call, number):
        self.wait_for_exchange(tenant)
        tenant.say(f"arm {call}@{LIBRARY} {number} 1 {-signal.SIGSTOP}")
        self.wait_until(lambda: is_stopped(tenant), f"{tenant} in {call} {number}", self.status)
        self.kill_daemon()
        tenant.send(SIGCONT)
        self.start_daemon()
        self.wait_until(lambda: self.on_gpu(tenant), f"{tenant} back")


class FullGpu(ExchangeCase):
    # Every process is to have a place for what it has.
    window = "5ms"
    daemon_options = ("--turn", "100ms", "--host-memory", "1GiB")

    def test_newcomers_make_contexts_where_others_memory_is(self):
        """Together they have more than there is, so nothing is free. Contexts cannot be moved, and
        nobody knows of them before they are made."""
        others = [self.tenant("mixed", 5, 1) for _ in range(3)]
        self.check_goes_on(*others)
        newcomers = [self.tenant("mixed", 1, 1) for _ in range(2 * GROUP)]
        for one in newcomers:
            one.wait_for_progress(1)
        self.finish(*newcomers)
        self.check_goes_on(*others)
        self.finish(*others)


def whole_exchange(calls):
    """How often each call is made in an exchange for which nothing has to be prepared any more, and
    in which memory of every kind leaves and comes; None: there was none yet. Where the machine is
    slow, some of it may leave again before the rest has come."""
    begins = begins_of(calls)
    for begin, end in zip(begins[1:], begins[2:]):
        exchange = collections.Counter(calls[begin:end])
        if all(call in exchange for call in MOVES):
            return exchange
    return None


def calls_in(file):
    """Of the library's threads, as the simulator has written them down."""
    lines = file.read_text().split("\n")[:-1]  # the last one may be half written
    return [line.split()[1] for line in lines if line.startswith(LIBRARY)]


def most_in_exchanges(calls):
    """How often each call was made in the exchange that made it most often, but for those that are
    made again and again whatever there is to move; None: there were too few exchanges yet."""
    begins, most = begins_of(calls)[1:], collections.Counter()
    for begin, end in zip(begins, begins[1:]):
        most |= collections.Counter(calls[begin:end])
    if len(begins) <= RECORDED or not set(MOVES) <= set(most):
        return None
    return {call: most[call] for call in most if call not in (*ASKS, *PREPARES)}


def begins_of(calls):
    """Where memory begins to leave after some has come."""
    begins, comes = [], True
    for at, call in enumerate(calls):
        if call == "cuMemUnmap" and comes:
            begins.append(at)
        if call in ("cuMemUnmap", "cuMemCreate"):
            comes = call == "cuMemCreate"
    return begins


def ends_of(count):
    """The first and the last of so many equal calls."""
    return sorted({0, count - 1})


def some_of(count):
    return range(count) if ALL_KILLS else ends_of(count)


if __name__ == "__main__":
    unittest.main()
