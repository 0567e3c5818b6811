#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenants that mostly have nothing to do: they give the GPU up each time, and lose nothing.

usage: bursts_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase

ROUNDS = 80
# Pauses that end a turn of serial mode (ADR-0033), and how many of those.
LONG_PAUSE_MS = 250
LONG_ROUNDS = 10


class Bursts(FaultCase):
    def check_all_go_on(self, *tenants, rounds=ROUNDS):
        for tenant in tenants:
            tenant.wait_for_progress(rounds)
        self.finish(*tenants)

    def test_a_turn_is_given_up_each_time(self):
        # No turn ends by itself: if one that is idle once kept its own, the others would wait.
        self.ask(command="set", gpu="all", mode="serial", turn_s=3600)
        tenants = [self.tenant("bursts", 1, LONG_PAUSE_MS) for _ in range(3)]
        self.check_all_go_on(*tenants, rounds=LONG_ROUNDS)

    def test_beside_one_that_always_has_work(self):
        self.ask(command="set", gpu="all", window_ms=1000)
        worker = self.worker()
        self.check_all_go_on(self.tenant("bursts", 1), self.tenant("bursts", 1))
        self.check_goes_on(worker)
        self.finish(worker)


class BurstsOfMovedMemory(FaultCase):
    scale = 16
    daemon_options = ("--turn", "100ms", "--gpu-memory", "400MiB", "--host-memory", "640MiB")

    def test_nothing_is_lost(self):
        # Of three, two have room: the memory of one leaves right after a burst.
        tenants = [self.tenant("bursts", 160) for _ in range(3)]
        for tenant in tenants:
            tenant.wait_for_progress(ROUNDS)
        moved = sum(self.on_gpu(tenant)["copied_out_bytes"] for tenant in tenants)
        self.assertGreater(moved, 0)
        self.finish(*tenants)


if __name__ == "__main__":
    unittest.main()
