# SPDX-License-Identifier: Apache-2.0
"""What swap.py makes of what it has seen, and what it says of programs in place of those that need
a GPU. The daemon is a script that knows of two swap-outs."""

import json
import os
import subprocess
import sys
import unittest
from unittest import mock

import fake_build
import swap
import swap_figures
import swap_node
import swap_programs


def move(tenant, way, start_ms, took_ms):
    start = start_ms * 1000
    return {"tenant": tenant, "way": way, "start_us": start, "end_us": start + took_ms * 1000}


class Swaps(unittest.TestCase):
    def test_what_leaves_counts_by_tenant_and_in_order(self):
        moves = [move(7, "out", 2000, 5), move(7, "in", 50, 9), move(8, "out", 60, 3)]
        moves.append(move(7, "out", 10, 20))
        outs = swap_figures.swap_outs(moves)
        self.assertEqual(outs, {7: [(10, 20), (2000, 5)], 8: [(60, 3)]})

    def test_parts_of_one_swap_out_are_one(self):
        moves = [move(7, "out", 0, 100), move(7, "out", 250, 80), move(7, "out", 829, 1)]
        moves += [move(7, "out", 1330, 90), move(8, "out", 300, 5)]
        outs = swap_figures.swap_outs(moves)
        self.assertEqual(outs, {7: [(0, 181), (1330, 90)], 8: [(300, 5)]})

    def test_a_first_one_is_compared_with_all_later_ones(self):
        outs = {"a": [(0, 300), (1, 100), (2, 200)], "b": [(3, 1000), (4, 150)]}
        ratios = swap_figures.first_to_later(outs)
        self.assertEqual(ratios, {"a": 2.0, "b": 1000 / 150})

    def test_pieces_say_nothing_about_times(self):
        outs = {"a": [(0, 1), (1, 300), (2, 100), (3, 0)], "b": [(4, 2)]}
        self.assertEqual(swap_figures.first_to_later(outs), {"a": 3.0})

    def test_without_later_ones_there_is_no_ratio(self):
        self.assertIsNone(swap_figures.first_to_later({"a": [(0, 300)], "b": [(3, 100)]}))
        self.assertIsNone(swap_figures.first_to_later({}))


class Growth(unittest.TestCase):
    def test_what_goes_up_and_down_has_not_grown(self):
        series = {"daemon descriptors": [116, 154, 116, 137, 150, 154, 116, 116, 116]}
        self.assertEqual(swap_figures.growth(series), [])

    def test_what_is_higher_at_the_end_than_ever_in_the_first_third_has(self):
        series = {"t0 mappings": [149, 150, 149, 155, 160, 165, 170, 175, 180]}
        self.assertEqual(swap_figures.growth(series), ["t0 mappings 150 -> 175"])

    def test_a_single_high_sample_at_the_end_is_no_growth(self):
        series = {"t0 mappings": [149] * 8 + [500]}
        self.assertEqual(swap_figures.growth(series), [])

    def test_each_count_has_its_slack(self):
        self.assertFalse(swap_figures.grew("t0 descriptors", [37, 37, 39]))
        self.assertTrue(swap_figures.grew("t0 descriptors", [37, 37, 40]))
        self.assertFalse(swap_figures.grew("t0 anonymous_kib", [16000, 16000, 17000]))
        self.assertTrue(swap_figures.grew("t0 anonymous_kib", [16000, 16000, 18000]))


class Counts(unittest.TestCase):
    def test_a_process_that_is_going_has_none(self):
        counts = swap_node.counts_of(os.getpid())
        self.assertTrue(all(number > 0 for number in counts.values()), counts)
        child = subprocess.Popen([sys.executable, "-c", ""])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it is still there, as a zombie
        self.assertEqual(swap_node.counts_of(child.pid), {})
        child.wait()
        self.assertEqual(swap_node.counts_of(child.pid), {})


class Results(unittest.TestCase):
    LINE = "noise\nbare eager 50.0 it/s loss {} weights 12.5 mem 4.40 GiB\n"

    def test_training_is_compared_by_loss_and_weights(self):
        bare = self.LINE.format("1.0e+00")
        self.assertTrue(swap_figures.same_result(bare, bare.replace("50.0", "7.0")))
        self.assertFalse(swap_figures.same_result(bare, self.LINE.format("1.1e+00")))
        self.assertFalse(swap_figures.same_result(bare, "no figures\n"))
        self.assertFalse(swap_figures.same_result(bare, bare + "Segmentation fault\n"))

    def test_other_programs_are_compared_by_their_last_line(self):
        self.assertTrue(swap_figures.same_result("a\n9 sums\n", "b\n9 sums\n"))
        self.assertFalse(swap_figures.same_result("9 sums\n", "8 sums\n"))
        self.assertFalse(swap_figures.same_result("", ""))

    def test_a_workload_passes_by_its_last_line_and_its_code(self):
        self.assertTrue(swap_figures.passed(0, "t0: 3 GiB\nt0: PASS  1.0 s\n"))
        self.assertFalse(swap_figures.passed(1, "t0: PASS  1.0 s\n"))
        self.assertFalse(swap_figures.passed(0, "t0: PASS\nt0: FAIL\n"))


# A fake tenant knows from its environment whether it is shared; {} is its loss then.
TRAIN = """import os, sys
loss = ({}) if 'NVSHARE_FOLDER' in os.environ else '1.0e+00'
print('bare', sys.argv[1], '9.0 it/s loss', loss, 'weights 12.5 mem 4.4 GiB')
"""


class Script(fake_build.ScriptTest):
    def setUp(self):
        super().setUp()
        self.program("bin/nvshare-workload", f"#!{sys.executable}\n")
        self.program("torch.py", "")
        self.train("'1.0e+00'")
        self.moves(10)
        look = mock.patch("swap_node.LOOK_S", 0.02)
        look.start()
        self.addCleanup(look.stop)

    def train(self, loss):
        self.program("train.py", TRAIN.format(loss))

    def moves(self, count):
        """As many swap-outs of each of two tenants."""
        moves = [move(tenant, "out", 2000 * i, 1) for i in range(count) for tenant in (1, 2)]
        self.tracing(json.dumps(moves))

    def tracing(self, moves):
        self.daemon(
            check="sys.argv[sys.argv.index('--gpu-memory') + 1] == str(7 << 30)",
            result=f"{{'moves': {moves}}} if command == 'trace' else {{'tenants': [], 'gpus': []}}",
        )

    def run_script(self, *arguments):
        return self.run_main(swap.main, *arguments)

    def test_training_that_is_the_same_under_enough_swaps(self):
        code, text = self.run_script("--parts", "train")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"train, bare compile \| bare compile 9.0 it/s")
        self.assertRegex(text, r"train, graph 2 \| .* loss 1.0e\+00 .* \| as bare \| ok \|")
        self.assertRegex(text, r"train, eager\+graph, swap-outs \| 20 .* \| >= 20 \| ok \|")

    def test_other_results_and_too_few_swaps_are_missed(self):
        self.train("'1.1e+00' if sys.argv[1] == 'graph' else '1.0e+00'")
        self.moves(9)
        code, text = self.run_script("--parts", "train")
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"train, eager 1 \| .* \| as bare \| ok \|")
        self.assertRegex(text, r"train, graph 2 \| .* \| as bare \| MISSED \|")
        self.assertRegex(text, r"train, compile\+compile, swap-outs \| 18 .* \| MISSED \|")

    def test_a_program_that_does_not_end_is_killed_and_told(self):
        self.train("__import__('time').sleep(1000)")
        one = (("eager", "graph"),)
        with mock.patch.multiple("swap_programs", LOAD_S=3, PAIRS=one):
            code, text = self.run_script("--parts", "train", "--steps", "1")
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"train, eager 1 \| did not end in its time: .* \| MISSED \|")

    def test_a_framework_that_is_missing_is_said(self):
        with mock.patch("swap_programs.has", return_value=False):
            code, text = self.run_script("--parts", "jax,allocators")
        self.assertEqual(code, 1, "nothing was measured")
        self.assertIn("has no jax", text)
        self.assertIn("has no cupy", text)

    def test_a_framework_is_looked_for_in_the_python_of_the_programs(self):
        options = mock.Mock(python=sys.executable)
        self.assertTrue(swap_programs.has(options, "torch"))
        self.assertFalse(swap_programs.has(options, "no_such_module"))

    def test_a_daemon_that_dies_breaks_a_part_off(self):
        self.tracing("no_such_name")
        code, text = self.run_script("--parts", "train")
        self.assertEqual(code, 1, text)
        self.assertRegex(text, r"train \| broken off: .* \| its end \| MISSED \|")


if __name__ == "__main__":
    unittest.main()
