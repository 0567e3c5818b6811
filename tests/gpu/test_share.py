# SPDX-License-Identifier: Apache-2.0
"""share.py with a fake daemon and fake programs in place of those that need a GPU."""

import os
import sys
import unittest

import fake_build
import share
import sharing

# A fake tenant knows from its environment whether it is shared; {} is its rate then.
TQ = """import os, sys
shared = 'NVSHARE_FOLDER' in os.environ
assert shared == ('LD_PRELOAD' in os.environ)
print(sys.argv[1], {} if shared else 1000.0, 'it/s (1.0s)')
"""
LAT = """import sys
print(f'{sys.argv[2]}: n 9 p50 13 us p99 20 us p99.9 37 us max 1.0 ms')
"""
TORCH = """class cuda:
    init = synchronize = lambda: None
class ones:
    def __init__(self, *_, **__): pass
    def add_(self, _): pass
"""


class Share(fake_build.ScriptTest):
    def setUp(self):
        super().setUp()
        self.daemon(check="'--window' not in sys.argv", result="{}")
        self.program("lat.py", LAT)
        self.program("torch.py", TORCH)
        self.shared_rate(1000.0)

    def shared_rate(self, rate):
        self.program("tq.py", TQ.format(rate))

    def run_script(self, *arguments):
        return self.run_main(share.main, "--seconds", "1", "--load-seconds", "0", *arguments)

    def test_overhead_by_turns(self):
        self.shared_rate(990.0)
        code, text = self.run_script("--parts", "overhead")
        self.assertEqual(code, 1, text)
        self.assertIn("| `tiny`, one tenant, nvshare, of bare | 99.00 % | >= 98.5 % | ok |", text)
        self.assertIn("| `mm`, one tenant, nvshare, of bare | 99.00 % | >= 99.5 % | MISSED |", text)

    def test_pairs_have_totals_and_shares(self):
        self.shared_rate(250.0)
        code, text = self.run_script("--parts", "pair", "--kinds", "mm")
        self.assertEqual(code, 1, text)
        total = "| `mm`, 2 tenants, nvshare, total of one alone | 50.00 % | >= 99 % | MISSED |"
        self.assertIn(total, text)
        total = "| `mm`, 4 tenants, nvshare, total of one alone | 100.00 % | >= 99 % | ok |"
        self.assertIn(total, text)
        self.assertIn("| `mm`, 4 tenants, driver, total of one alone | 400.00 % |  |  |", text)
        apart = "| `mm`, 2 tenants, nvshare, farthest from equal share | 0.00 % | <= 2 % | ok |"
        self.assertIn(apart, text)

    def test_requests_beside_a_tenant(self):
        code, text = self.run_script("--parts", "requests")
        self.assertEqual(code, 0, text)
        self.assertIn("| `mm` beside `lat.py`, nvshare, of alone | 100.00 % | >= 49 % | ok |", text)
        self.assertIn("| `lat.py` beside `mm`, driver | p50 13 us, p99 20 us |", text)

    def test_a_program_that_fails_is_told(self):
        self.program("tq.py", "raise SystemExit('no such GPU')\n")
        code, text = self.run_script("--parts", "overhead")
        self.assertEqual(code, 1)
        self.assertIn("ended with 1: no such GPU", text)

    def test_the_budget_ends_it(self):
        code, text = self.run_script("--parts", "pair", "--budget", "0.5")
        self.assertEqual(code, 1)
        self.assertIn("there is no time left", text)

    def test_a_daemon_that_does_not_start_is_told(self):
        self.program("bin/nvshare-scheduler", f"#!{sys.executable}\nraise SystemExit('no room')\n")
        with self.assertRaisesRegex(SystemExit, "no room"):
            self.run_script("--parts", "overhead")

    def test_the_farthest_share_counts(self):
        self.assertAlmostEqual(sharing.farthest_from_equal([100, 110, 90, 60]), 100 / 3)


if __name__ == "__main__":
    unittest.main()
