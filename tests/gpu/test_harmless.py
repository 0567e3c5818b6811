# SPDX-License-Identifier: Apache-2.0
"""The whole script with fake programs in place of those that need a GPU, and some library of the
system, copied, in place of libnvshare.so."""

import contextlib
import io
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

import checks_programs
import harmless
import running

# {} is what a fake adds to its answer when the library is in its process.
TRAIN = """import os, sys
loss = '1.0' + ('{}' if 'LD_PRELOAD' in os.environ else '')
print('bare', sys.argv[1], '50 it/s loss', loss, 'weights 2.5 mem 1 GiB')
"""
TQ = """import os, sys
rate = 1000 * ({} if 'LD_PRELOAD' in os.environ else 1)
print(sys.argv[1], f'{{rate:.1f}} it/s')
"""
CONFORMANCE = """#!{}
import os
print('init/one: cuInit() -> CUDA_SUCCESS')
print('{{}}' if 'LD_PRELOAD' in os.environ else '')
"""


def any_library():
    """A shared library that every process here has anyway."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = [line.split()[-1] for line in maps if "libc.so" in line or "libm.so" in line]
    return paths[-1]


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copy(any_library(), self.folder / "libnvshare.so")
        self.write()

    def write(self, loss="", rate="1", transcript=""):
        (self.folder / "train.py").write_text(TRAIN.format(loss), encoding="utf-8")
        (self.folder / "tq.py").write_text(TQ.format(rate), encoding="utf-8")
        program = self.folder / "conformance"
        text = CONFORMANCE.format(sys.executable).format(transcript)
        program.write_text(text, encoding="utf-8")
        program.chmod(0o755)

    def run_script(self, *only):
        arguments = ["--library", self.folder / "libnvshare.so", "--programs", self.folder]
        arguments += ["--conformance", self.folder / "conformance", "--out", self.folder / "out"]
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            code = harmless.main([*map(str, arguments), "--seconds", "1", "--only", *only])
        return code, shown.getvalue()

    def test_all_is_well(self):
        code, text = self.run_script("preloaded", "train_*", "conformance", "tq_*")
        self.assertEqual(code, 0, text)
        self.assertIn("8 checks, 0 failed", text)
        self.assertIn("ok   train_eager: loss 1.0 weights 2.5", text)
        self.assertIn("     tq_mm: bare: 1000.0 1000.0 1000.0 1000.0 1000.0", text)
        out = self.folder / "out"
        self.assertIn("50 it/s", (out / "train_graph.library.out").read_text(encoding="utf-8"))
        self.assertIn("tq_add", (out / "table.txt").read_text(encoding="utf-8"))
        self.assertEqual(len(list(out.glob("tq_tiny_*.bare.out"))), 5)

    def test_another_loss_fails(self):
        self.write(loss="1")
        code, text = self.run_script("train_compile", "preloaded")
        self.assertEqual(code, 1)
        self.assertIn("FAIL train_compile: bare loss 1.0 weights 2.5, library loss 1.01", text)

    def test_each_rate_has_its_threshold(self):
        self.write(rate="0.99")
        code, text = self.run_script("tq_*")
        self.assertEqual(code, 1)
        self.assertIn("ok   tq_tiny: 99.00 % of bare (at least 98.5 %)", text)
        self.assertIn("FAIL tq_mm: 99.00 % of bare (at least 99.5 %)", text)
        self.assertIn("3 checks, 2 failed", text)

    def test_another_transcript_fails(self):
        self.write(transcript="init/two: cuInit() -> 999")
        code, text = self.run_script("conformance")
        self.assertEqual(code, 1)
        self.assertIn("FAIL conformance: stdout differs: -; +init/two", text)

    def test_a_library_that_cannot_be_preloaded_fails(self):
        (self.folder / "libnvshare.so").write_text("no library", encoding="utf-8")
        code, text = self.run_script("preloaded", "train_eager")
        self.assertEqual(code, 1)
        self.assertIn("FAIL preloaded", text)
        self.assertIn("FAIL train_eager: 1 lines more on stderr: ERROR: ld.so", text)

    def run_own(self, program):
        """The verdict on a program of the script's own folder."""
        (self.folder / "own.py").write_text(program, encoding="utf-8")
        runner = running.Runner(self.folder / "libnvshare.so", self.folder, 60)
        context = harmless.Context(
            runner, self.folder, sys.executable, self.folder, self.folder, None, 1, 1
        )
        return checks_programs.same("own.py")(context)

    def test_a_warning_that_does_not_come_again_is_forgiven_and_shown(self):
        first = "import os, sys; print(7); here = os.path.join(os.path.dirname(__file__), 'once')\n"
        warn = "print('slow', file=sys.stderr)"
        once = "if 'LD_PRELOAD' in os.environ and not os.path.exists(here): open(here, 'w'); "
        verdict = self.run_own(first + once + warn)
        self.assertEqual(verdict.complaints, [])
        self.assertIn("ran again, because there were 1 lines more", verdict.lines[0])
        verdict = self.run_own(f"{first}if 'LD_PRELOAD' in os.environ: {warn}")
        self.assertEqual(verdict.complaints, ["1 lines more on stderr: slow"])

    def test_unknown_checks_are_refused(self):
        with self.assertRaisesRegex(SystemExit, "no check 'tq_huge'"):
            self.run_script("tq_huge")


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def runner(self, budget_s=60):
        return running.Runner(pathlib.Path("/nowhere/libnvshare.so"), self.out, budget_s)

    def test_a_program_that_does_not_end_is_ended_with_its_children(self):
        program = "sleep 1000 & echo $!; wait"
        outcome = self.runner().run("x", running.Kind.BARE, ["sh", "-c", program], 4)
        self.assertIsNone(outcome.code)
        self.assertIn("did not end in its time", outcome.trouble()[0])
        self.assertRegex(outcome.stdout, r"^\d+\n$")
        self.wait_for_end(pathlib.Path("/proc", outcome.stdout.strip(), "stat"))

    def wait_for_end(self, status):
        """A signal takes its time on a busy machine, and whoever inherits a child may leave it."""
        deadline = time.monotonic() + 60
        while status.exists():
            try:
                if ") Z " in status.read_text(encoding="utf-8"):
                    return
            except (FileNotFoundError, ProcessLookupError):
                return
            self.assertLess(time.monotonic(), deadline, "it still runs")
            time.sleep(0.01)

    def test_nothing_starts_when_the_time_is_over(self):
        outcome = self.runner(budget_s=0).run("x", running.Kind.BARE, ["touch", "/nowhere"], 5)
        self.assertEqual((outcome.code, outcome.stdout), (None, ""))
        self.assertIn("no time left", outcome.trouble()[0])

    def test_only_the_library_run_has_the_library(self):
        runner = self.runner()
        for kind, wanted in ((running.Kind.BARE, ""), (running.Kind.LIBRARY, "libnvshare.so")):
            environment = runner.environment("x", kind, {"EXTRA": "1"})
            self.assertEqual(pathlib.Path(environment.get("LD_PRELOAD", "")).name, wanted)
            self.assertEqual(environment["EXTRA"], "1")
            self.assertIn(f"x.{kind.value}", environment["TRITON_CACHE_DIR"])


if __name__ == "__main__":
    unittest.main()
