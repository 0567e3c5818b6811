#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that can be moved is opened in another process, by way of the daemon.

usage: ipc_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase


class Ipc(FaultCase):
    scale = 16
    time = 0.05

    def share(self):
        maker = self.tenant("ipc_share")
        handles = [maker.wait_for_line("handle", number).split()[1] for number in (1, 2)]
        return maker, handles

    def test_both_see_what_the_other_writes(self):
        maker, handles = self.share()
        opener = self.tenant("ipc_open", *handles)
        opener.wait_for_line("written")
        maker.say()
        maker.wait_for_line("freed")
        # Who has it keeps it, and nobody else can have it any more.
        self.check_refused(self.tenant("ipc_open", *handles))
        opener.say()
        opener.wait_for_line("gone")
        opener.check_ok()
        maker.finish()

    def test_the_handles_of_a_process_that_ended_open_nothing(self):
        maker, handles = self.share()
        maker.kill()
        self.wait_until_forgotten(maker)
        self.check_refused(self.tenant("ipc_open", *handles))

    def check_refused(self, opener):
        opener.wait_for(lambda: any("OpenMemHandle" in line for line in opener.lines), "refusal")


if __name__ == "__main__":
    unittest.main()
