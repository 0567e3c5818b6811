#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits on memory that processes share: it counts once for a tenant, for as long as any of its
processes has it, whoever made it (ADR-0030).

usage: limit_shared_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import SIGKILL
from told_case import MIB, NVML, OUT_OF_MEMORY, Told

SIZE = 2 * MIB * 75


def each_way(check):
    """With memory that is shared by a handle, and by a descriptor."""

    def test(self):
        for way, pass_on in (("plain", self.pass_handle), ("shareable", self.pass_file)):
            with self.subTest(way=way):
                check(self, way, pass_on)

    return test


class LimitShared(Told):
    run_number = "5a4ed"

    def process(self, run=run_number):
        tenant = self.tenant("limits", NVML, NVSHARE_RUN=run)
        tenant.wait_for_line("ready")
        return tenant

    def set_limit(self, tenant, limit):
        self.ask(command="limit", tenant=self.row_of(tenant)["id"], memory=str(limit))

    def used(self, tenant):
        return self.on_gpu(tenant)["memory_used_bytes"]

    def answer(self, tenant):
        tenant.taken = getattr(tenant, "taken", 0) + 1
        result = int(tenant.wait_for_line("took", tenant.taken).split()[1])
        self.assertIn(result, (0, OUT_OF_MEMORY))
        return result == 0

    def pass_handle(self, maker, opener):
        """Whether it could be opened."""
        maker.shared = getattr(maker, "shared", 0) + 1
        maker.say("share")
        handle = maker.wait_for_line("handle", maker.shared).split()[1]
        opener.say(f"open {handle}")
        return self.answer(opener)

    def pass_file(self, maker, opener):
        opener.waited = getattr(opener, "waited", 0) + 1
        maker.sent = getattr(maker, "sent", 0) + 1
        name = f"{self.machine['NVSHARE_SIM_MACHINE']}-{opener.pid}-{opener.waited}"
        opener.say(f"receive {name}")
        opener.wait_for_line("waiting", opener.waited)
        maker.say(f"send {name}")
        maker.wait_for_line("sent", maker.sent)
        return self.answer(opener)

    @each_way
    def test_it_counts_once_and_outlives_its_maker(self, way, pass_on):
        keeper = self.process()
        alone = self.used(keeper)
        self.set_limit(keeper, alone + 2 * SIZE - 1)
        maker = self.process()
        self.assertTrue(self.take(maker, way, SIZE))
        before = self.used(keeper)
        self.assertTrue(pass_on(maker, keeper), "it is there already, and counts")
        self.assertTrue(pass_on(maker, keeper))
        self.assertEqual(self.used(keeper), before)
        maker.send(SIGKILL)
        self.wait_until_forgotten(maker)
        self.assertEqual(self.used(keeper), alone + SIZE)
        another = self.process()
        self.assertFalse(self.take(another, way, SIZE), "what is kept leaves no room")
        self.give(keeper)
        self.assertFalse(self.take(another, way, SIZE), "it was opened twice")
        self.give(keeper)
        self.assertTrue(self.take(another, way, SIZE))
        self.finish(keeper, another)

    @each_way
    def test_it_counts_for_others_when_its_maker_frees_it(self, way, pass_on):
        maker, keeper = self.process(), self.process()
        before = self.used(keeper)
        self.assertTrue(self.take(maker, way, SIZE))
        self.assertTrue(pass_on(maker, keeper))
        self.assertEqual(self.used(keeper), before + SIZE)
        self.give(maker)
        self.assertEqual(self.used(keeper), before + SIZE)
        self.give(keeper)
        self.assertEqual(self.used(keeper), before)
        self.finish(maker, keeper)

    @each_way
    def test_memory_of_another_tenant_counts_for_both(self, way, pass_on):
        maker, stranger = self.process(), self.process(run="abcdef")
        before = self.used(stranger)
        self.set_limit(stranger, before + SIZE - 1)
        self.assertTrue(self.take(maker, way, SIZE))
        self.assertFalse(pass_on(maker, stranger))
        self.assertEqual(self.used(stranger), before)
        self.set_limit(stranger, before + SIZE)
        self.assertTrue(pass_on(maker, stranger))
        self.assertEqual(self.used(stranger), before + SIZE)
        self.finish(maker, stranger)

    @each_way
    def test_another_daemon_counts_it_once_too(self, way, pass_on):
        maker, keeper = self.process(), self.process()
        self.assertTrue(self.take(maker, way, SIZE))
        self.assertTrue(pass_on(maker, keeper))
        before = self.used(keeper)
        self.kill_daemon()
        self.start_daemon()
        # When both are back.
        self.wait_until(
            lambda: self.on_gpu(keeper) and self.used(keeper) == before, "what they have"
        )
        self.give(maker)
        self.assertEqual(self.used(keeper), before)
        self.give(keeper)
        self.assertEqual(self.used(keeper), before - SIZE)
        self.finish(maker, keeper)


if __name__ == "__main__":
    unittest.main()
