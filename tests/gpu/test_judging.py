# SPDX-License-Identifier: Apache-2.0
import pathlib
import tempfile
import unittest

import checks_programs
import checks_tools
import judging
from running import Kind, Outcome


def bare(stdout="", stderr="", code=0):
    return Outcome("x", Kind.BARE, code, stdout, stderr, 1)


def library(stdout="", stderr="", code=0):
    return Outcome("x", Kind.LIBRARY, code, stdout, stderr, 1)


class SameProgram(unittest.TestCase):
    def test_equal_runs_have_no_complaints(self):
        self.assertEqual(judging.same_program(bare("7\n"), library("7\n")), [])

    def test_stdout_must_be_equal_to_the_digit(self):
        (text,) = judging.same_program(bare("a\n7\n"), library("a\n8\n"))
        self.assertEqual(text, "stdout differs: -7; +8")
        self.assertEqual(len(judging.same_program(bare("a\n"), library("a"))), 1)

    def test_a_program_that_fails_is_named_with_its_last_words(self):
        (text,) = judging.same_program(bare("7"), library("", "one\ntwo\n", 3))
        self.assertEqual(text, "library ended with 3: two")
        self.assertEqual(len(judging.same_program(bare("", "", None), library("", "", 0))), 1)

    def test_a_program_that_says_nothing_proves_nothing(self):
        self.assertIn("nothing was compared", judging.same_program(bare(), library())[0])

    def test_stderr_may_differ_in_numbers_but_not_in_lines(self):
        warned = "W 12:00:01 pid 77 at 0x7f00 in cache/jax.bare/x\n"
        again = "W 12:00:09 pid 9 at 0x55aa1 in cache/jax.library/x\n"
        self.assertEqual(judging.same_program(bare("7", warned), library("7", again)), [])
        (text,) = judging.same_program(bare("7", warned), library("7", again + "nvshare: hello\n"))
        self.assertEqual(text, "1 lines more on stderr: nvshare: hello")


class SameTraining(unittest.TestCase):
    LINE = "bare     eager      50.0 it/s loss {} weights 12.5 mem 4.40 GiB\n"

    def test_rates_may_differ_and_loss_may_not(self):
        first, second = self.LINE.format("1.0e+00"), self.LINE.format("1.1e+00")
        slower = first.replace("50.0", "49.0")
        complaints, remark = judging.same_training(bare(first), library(slower))
        self.assertEqual((complaints, remark), ([], "loss 1.0e+00 weights 12.5"))
        complaints, _ = judging.same_training(bare(first), library(second))
        self.assertIn("library loss 1.1e+00", complaints[0])

    def test_output_without_figures_is_no_proof(self):
        self.assertEqual(len(judging.same_training(bare("x"), library("x"))[0]), 1)


class Volatile(unittest.TestCase):
    def test_numbers_dates_and_widths_do_not_count(self):
        first = "Sun Nov 15 07:00:01 2026\n|  0  H200    On | 34C  P0  77W |\n  Idle : Active\n"
        second = "Mon Nov 16 17:00:59 2026\n| 0 H200 On | 101C  P8 123.5W |\n  Idle : Not Active\n"
        self.assertEqual(judging.same_but_volatile(bare(first), library(second)), [])

    def test_words_and_exit_codes_do(self):
        self.assertEqual(len(judging.same_but_volatile(bare("On"), library("Off"))), 1)
        self.assertEqual(len(judging.same_but_volatile(bare("On"), library("On", "", 1))), 1)


class Rates(unittest.TestCase):
    def test_medians_decide(self):
        complaints, remark = judging.compare_rates([100, 90, 110], [99, 10, 990], 98.5)
        self.assertEqual(complaints, [])
        self.assertIn("99.00 % of bare", remark)
        complaints, _ = judging.compare_rates([100, 90, 110], [98, 98, 99], 98.5)
        self.assertEqual(len(complaints), 1)

    def test_a_rate_counts_only_if_the_program_ended_well(self):
        self.assertEqual(judging.rate_of(bare(" tiny 250000.5 it/s (4.0s)")), 250000.5)
        self.assertIsNone(judging.rate_of(bare("tiny 250000.5 it/s", "", 1)))
        self.assertIsNone(judging.rate_of(bare("nothing")))


class Profile(unittest.TestCase):
    REPORT = "sum 64\n  add_one(int *, int, int)\n    Duration us 1.5\n"
    REFUSED = "sum 64\n==ERROR== ERR_NVGPUCTRPERM - no permission\n"

    def test_both_must_report_the_kernel(self):
        complaints, _ = checks_tools.judge_profile(bare(self.REPORT), library(self.REPORT))
        self.assertEqual(complaints, [])
        complaints, _ = checks_tools.judge_profile(bare(self.REPORT), library("sum 64\n"))
        self.assertEqual(complaints, ["library: no report about add_one"])

    def test_a_machine_that_does_not_allow_it_must_refuse_both(self):
        judge = checks_tools.judge_profile
        complaints, remark = judge(bare(self.REFUSED, "", 1), library(self.REFUSED, "", 1))
        self.assertEqual(complaints, [])
        self.assertIn("bare too: ERR_NVGPUCTRPERM", remark)
        complaints, _ = judge(bare(self.REFUSED, "", 1), library("sum 64\nhung", "", None))
        self.assertEqual(len(complaints), 2)


class Debug(unittest.TestCase):
    LOG = """     123 at the end
     123 owner  type    handle device kind   bytes_now bytes_peak count_now allocations
     123 memory primary 0x55 0 all 0 2097152 0 3
     123 process peak 2097152 bytes, 3 allocations
"""
    STDERR = "a warning\nnvshare: 0.1, pid 123\nnvshare: pid 123, peak 2097152 bytes\n"

    def complaints(self, stderr, log):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "debug.log")
            if log is not None:
                path.write_text(log, encoding="utf-8")
            runs = bare("7\n", "a warning\n"), library("7\n", stderr)
            return checks_programs.complaints_about_debug(*runs, path)

    def test_two_lines_and_a_table(self):
        self.assertEqual(self.complaints(self.STDERR, self.LOG), [])

    def test_more_or_fewer_lines_or_no_table(self):
        self.assertEqual(len(self.complaints(self.STDERR + "nvshare: more\n", self.LOG)), 1)
        self.assertEqual(len(self.complaints("a warning\nnvshare: 0.1\n", self.LOG)), 1)
        self.assertEqual(len(self.complaints(self.STDERR, "")), 3)
        self.assertEqual(len(self.complaints(self.STDERR, None)), 3)


if __name__ == "__main__":
    unittest.main()
