#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance program under the library and a daemon: memory is of the kind that can be moved,
and what the H200 answered for its own is what programs get, but for the lines that are listed.

usage: conformance_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import pathlib
import subprocess
import unittest

from fault_case import BUILD, FaultCase, environment
from tenant import PATIENCE_S

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "conformance"


class Conformance(FaultCase):
    scale = 1
    time = 1
    preset = "h200"

    def test_answers_are_those_of_the_card(self):
        library = str(BUILD / "lib/libnvshare.so")
        command = [
            str(BUILD / "bin/nvshare-conformance"),
            *("--driver", str(BUILD / "lib/sim/libcuda.so.1")),
            *("--compare", str(SOURCE / "transcript_h200.txt")),
            *("--known", str(SOURCE / "known_differences_shared.txt")),
        ]
        settings = {"LD_PRELOAD": library, "NVSHARE_FOLDER": str(self.folder), **self.machine}
        run = subprocess.run(
            command,
            env=environment(**settings),
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE_S,
        )
        self.assertEqual(run.returncode, 0, run.stdout[-6000:])
        self.assertIn("client joined", self.log_text())

    def check_machine(self):
        """Some of its steps end with memory that nobody may touch any more."""
        self.machine_file().unlink()


if __name__ == "__main__":
    unittest.main()
