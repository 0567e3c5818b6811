#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenants that are killed, stopped, or survived by their children.

usage: deaths_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import os
import unittest

from fault_case import SIGCONT, SIGKILL, SIGSTOP, FaultCase


class Killed(FaultCase):
    def test_in_its_window(self):
        # No turn ends meanwhile, unless the victim is held up for 100 ms (ADR-0033).
        self.ask(command="set", gpu="all", mode="serial", turn_s=3600)
        victim = self.worker()
        other = self.tenant("worker")
        self.wait_until(
            lambda: self.states_of(victim, other) == ["running", "waiting"],
            "the other one at the gate",
            self.status,
        )
        victim.kill()
        self.check_goes_on(other)
        self.wait_until_forgotten(victim)
        self.finish(other)

    def test_at_the_gate(self):
        victim, other = self.worker(), self.worker()
        name = self.row_of(victim)["id"]
        self.ask(command="pause", tenant=name)
        self.wait_for_state(victim, "paused")
        self.check_goes_on(other)
        victim.kill()
        self.wait_until_forgotten(victim)
        self.check_goes_on(other)
        self.finish(other)

    def test_again_and_again(self):
        other = self.worker()
        for _ in range(6):
            victim = self.worker()
            victim.kill()
            self.wait_until_forgotten(victim)
            self.check_goes_on(other)
        self.assertEqual(len(self.status()["tenants"]), 1)
        self.finish(other)


class Stopped(FaultCase):
    def stopped_holder(self):
        """Stopped while it is alone: beside others its window might just be over."""
        tenant = self.worker()
        tenant.send(SIGSTOP)
        return tenant

    def test_at_any_moment(self):
        stopped, other = self.worker(), self.worker()
        for _ in range(3):
            stopped.send(SIGSTOP)
            self.check_goes_on(other)
            stopped.send(SIGCONT)
            self.check_goes_on(stopped, other)
        self.finish(stopped, other)

    def test_in_its_window(self):
        stopped, other = self.stopped_holder(), self.worker()
        self.wait_for_state(stopped, "unresponsive")
        self.check_goes_on(other)
        stopped.send(SIGCONT)
        self.check_goes_on(stopped, other)
        self.wait_for_state(stopped, "running", "waiting", "draining", "idle")
        self.wait_for_windows(stopped)
        self.finish(stopped, other)

    def test_the_log_says_so_once(self):
        stopped, other = self.stopped_holder(), self.worker()
        stopped_id, gpu = self.row_of(stopped)["id"], self.status()["gpus"][0]["uuid"]
        (line,) = self.wait_for_lines(stopped_id, "a tenant does not answer")
        self.assertIn(" level=warning ", line)
        self.assertIn(f" gpu={gpu} ", line)
        self.check_goes_on(other)
        self.assertEqual(self.lines_of(stopped_id, "a tenant answers again"), [])
        stopped.send(SIGCONT)
        (line,) = self.wait_for_lines(stopped_id, "a tenant answers again")
        self.assertIn(f" gpu={gpu} ", line)
        self.wait_for_windows(stopped)
        self.wait_for_lines(stopped_id, "a tenant does not answer")
        self.finish(stopped, other)
        for message in ("client joined", "client uses a GPU", "client left"):
            (line,) = self.wait_for_lines(stopped_id, message)
            self.assertIn(f" tenant=fault_tenant tenant_id={stopped_id} pid={stopped.pid} ", line)
            self.assertEqual(gpu in line, message != "client joined")

    def test_and_killed(self):
        stopped, other = self.stopped_holder(), self.worker()
        self.wait_for_state(stopped, "unresponsive")
        stopped.kill()
        self.wait_until_forgotten(stopped)
        self.check_goes_on(other)
        self.finish(other)


class Forked(FaultCase):
    def check_child_survives(self, way):
        parent = self.tenant("forker", way)
        child = int(parent.wait_for_line("child").split()[1])
        self.addCleanup(os.kill, child, SIGKILL)
        parent.wait_for_progress()
        other = self.worker()
        clients = [one["pid"] for row in self.status()["tenants"] for one in row["clients"]]
        self.assertEqual(sorted(clients), sorted([parent.pid, other.pid]))
        self.check_goes_on(parent, other)
        # The one dies in its turn, and whoever has its descriptors does not keep the window.
        parent.kill()
        self.wait_until_forgotten(parent)
        os.kill(child, 0)
        self.check_goes_on(other)
        self.finish(other)

    def test_by_fork(self):
        self.check_child_survives("fork")

    def test_past_the_library(self):
        self.check_child_survives("clone")

    def test_an_end_in_peace(self):
        parent, other = self.tenant("forker", "fork"), self.worker()
        child = int(parent.wait_for_line("child").split()[1])
        self.addCleanup(os.kill, child, SIGKILL)
        self.check_goes_on(parent, other)
        self.finish(parent)
        self.check_goes_on(other)
        self.finish(other)


if __name__ == "__main__":
    unittest.main()
