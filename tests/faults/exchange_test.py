#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenants that are killed at every step of an exchange, and a daemon at some, beside one tenant
whose memory has to leave for theirs and whose data must be right in the end; and tenants that come
when there is no memory left.

A step is a call of the driver by one of the library's threads. Those that an exchange makes are
recorded first; then each one is the last of some tenant.

usage: exchange_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import collections
import signal
import unittest

from exchange import LIBRARY, ExchangeCase, is_stopped
from fault_case import SIGCONT

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
        calls = lambda: [
            line.split()[1]
            for line in file.read_text().split("\n")[:-1]  # the last one may be half written
            if line.startswith(LIBRARY)
        ]
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
        steps = [(call, n, True) for call in prepares for n in ends_of(prepares[call])]
        steps += [
            (call, n, False)
            for call in exchange
            if call not in (*ASKS, *PREPARES)
            for n in range(exchange[call])
        ]
        for at in range(0, len(steps), GROUP):
            self.check_group(innocent, steps[at : at + GROUP])
        self.check_only(innocent)
        self.finish(innocent)

    def test_the_daemon_dies_while_memory_moves(self):
        innocent, other = self.innocent(), self.victim()
        other.wait_for_line("ready")
        for call in MOVES:
            self.wait_for_exchange(other)
            other.say(f"arm {call}@{LIBRARY} 0 1 {-signal.SIGSTOP}")
            self.wait_until(lambda: is_stopped(other), f"{other} in {call}")
            self.kill_daemon()
            other.send(SIGCONT)
            self.start_daemon()
            self.wait_until(lambda: self.on_gpu(other) and self.on_gpu(innocent), "both back")
            self.check_goes_on(innocent, other)
        self.finish(other)
        self.check_only(innocent)
        self.finish(innocent)


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


if __name__ == "__main__":
    unittest.main()
