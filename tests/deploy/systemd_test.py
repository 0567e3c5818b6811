#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the unit of nvshare-scheduler promises: it is started again for as long as it takes, it is
watched, and has the rights that it needs and no others."""

import configparser
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy/systemd/nvshare-scheduler.service"
PROGRAM = "/usr/bin/nvshare-scheduler"
SHARED_PIECES, SHARED_PART = 8192, 8  # kSharedFilesMax, kSharedFilesPart: docs/library.md
RESTART_WAIT_S = 5  # how long nvshare run waits for a daemon that is restarted


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s)", text).groups()
    return int(number) / {"ms": 1000, "s": 1}[unit]


class Unit(unittest.TestCase):
    def setUp(self):
        unit = configparser.ConfigParser(interpolation=None)
        unit.optionxform = str
        unit.read_string(UNIT.read_text("utf-8"))
        self.unit, self.service = unit["Unit"], unit["Service"]

    def test_it_says_when_it_is_ready_and_that_it_is_alive(self):
        self.assertEqual(self.service["Type"], "notify")
        self.assertEqual(self.service["ExecStart"], PROGRAM)
        self.assertGreater(seconds(self.service["WatchdogSec"]), 1)

    def test_it_is_started_again_for_as_long_as_it_takes(self):
        self.assertEqual(self.service["Restart"], "always")
        # By itself systemd gives up after five starts in ten seconds.
        self.assertEqual(self.unit["StartLimitIntervalSec"], "0")
        pause = seconds(self.service["RestartSec"])
        self.assertGreaterEqual(pause, 1, "one that cannot start would spin")
        self.assertLess(pause, RESTART_WAIT_S)

    def test_it_has_the_rights_that_it_needs(self):
        self.assertEqual(
            set(self.service["CapabilityBoundingSet"].split()),
            {"CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_SYS_RESOURCE"},
        )
        self.assertEqual(self.service["NoNewPrivileges"], "yes")

    def test_it_has_descriptors_for_all_that_programs_may_share(self):
        self.assertGreaterEqual(int(self.service["LimitNOFILE"]), SHARED_PIECES * SHARED_PART)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd")
    def test_systemd_understands_it(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / UNIT.name
            # The program must exist where the unit says it is.
            copy.write_text(UNIT.read_text("utf-8").replace(PROGRAM, "/bin/true"), "utf-8")
            command = ["systemd-analyze", "verify", "--man=no", str(copy)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        said = [line for line in done.stderr.splitlines() if UNIT.name in line]
        self.assertEqual(said, [])


if __name__ == "__main__":
    unittest.main()
