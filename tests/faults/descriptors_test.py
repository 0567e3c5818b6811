#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program that closes descriptors which are not its own, and uses the numbers for itself.

usage: descriptors_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase


class Closed(FaultCase):
    def closer(self):
        tenant = self.tenant("closer")
        # Not so many from now on: it has six rounds before it waits for a word, and may have told
        # of them all before it is listened to.
        tenant.wait_for_line("at ", 3)
        return tenant

    def test_alone(self):
        closer = self.closer()
        closer.say()
        closer.wait_for_line("closed")
        self.check_goes_on(closer)
        self.finish(closer)

    def test_beside_another(self):
        closer, other = self.closer(), self.worker()
        closer.say()
        closer.wait_for_line("closed")
        self.check_goes_on(closer, other)
        # The daemon has heard of the end of its connection, and it connects again.
        self.wait_until(lambda: self.on_gpu(closer), "the closer in status again")
        self.wait_for_windows(closer)
        self.wait_for_windows(other)
        self.check_goes_on(closer, other)
        self.finish(closer, other)

    def test_while_the_daemon_is_away(self):
        closer, other = self.closer(), self.worker()
        self.kill_daemon()
        closer.say()
        closer.wait_for_line("closed")
        self.check_goes_on(closer, other)
        self.start_daemon()
        self.wait_until(lambda: self.on_gpu(closer), "the closer in status again")
        self.wait_for_windows(closer)
        self.check_goes_on(closer, other)
        self.finish(closer, other)


if __name__ == "__main__":
    unittest.main()
