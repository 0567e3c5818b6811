#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs from outside, on the simulator: what a terminal, a script and Ctrl-C see.

usage: demo_test.py BIN_FOLDER SIMULATED_LIBCUDA shared|unshared [UNITTEST_ARGUMENT...]

unshared: the programs are built with a sanitizer, so their tenants take no library.
"""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN, SIMULATOR, SHARED = "", "", True
TENANTS = 10
FAKE = pathlib.Path(__file__).with_name("fake_scheduler.py")
# Only a test that fails takes so long.
LIMIT_S = 100

MACHINE = f"demo-test-{os.getpid()}"


def environment(**extra):
    """A simulated machine of our own, on which time flies."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NVSHARE_")}
    return {**kept, "NVSHARE_SIM_MACHINE": MACHINE, "NVSHARE_SIM_TIME": "0.2", **extra}


def demo(*arguments, programs=None):
    options = ["--sim", "t4", "--show", "sharing", "--length", "0.1", *arguments]
    return [f"{programs or BIN}/nvshare-demo", *options]


def workload(*arguments):
    return [f"{BIN}/nvshare-workload", *arguments, "--driver", SIMULATOR]


def run(command, **extra):
    try:
        return subprocess.run(
            command, env=environment(**extra), capture_output=True, text=True, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired as late:
        # What it showed last says who stands still. Here it is bytes, whatever was asked for.
        shown = (late.stdout or b"").decode(errors="replace")
        raise AssertionError(f"{command} took {LIMIT_S} s and more:\n{shown[-4000:]}") from None


class Demo(unittest.TestCase):
    def test_shows_all_tenants_passing(self):
        done = run(demo())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = re.findall(r"^\S.*  [01]  PASS  +[\d.]+  +[\d.]+$", done.stdout, re.MULTILINE)
        self.assertEqual(len(rows), TENANTS, done.stdout)
        for word in ("min", "max", "average"):
            self.assertEqual(len(re.findall(rf"^{word} ", done.stdout, re.MULTILINE)), 2)
        self.assertNotIn("\033", done.stdout)
        if SHARED:
            self.check_shares(done.stdout)
        else:
            self.assertIn("Without the daemon (programs with a sanitizer", done.stdout)

    def check_shares(self, text):
        """What the daemon billed: every tenant once, and the shares of each GPU make a whole."""
        rows = re.findall(r"^\S.*  ([01])  +[\d.]+  +(\d+)  +\d+  +\d+$", text, re.MULTILINE)
        self.assertEqual(len(rows), TENANTS, text)
        for scene in (rows[:4], rows[4:]):
            for gpu in "01":
                total = sum(int(share) for number, share in scene if number == gpu)
                self.assertAlmostEqual(total, 100, delta=2, msg=text)
        switches = [int(n) for n in re.findall(r"^GPU [01]: (\d+) switches", text, re.MULTILINE)]
        self.assertEqual(len(switches), 4, text)
        self.assertGreater(switches[1], 1, text)  # tenants took turns where there were several

    def test_runs_without_the_daemon_when_asked(self):
        done = run(demo("--no-daemon"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Without the daemon (as asked for)", done.stdout)
        self.assertNotIn("share %", done.stdout)

    def test_redraws_on_a_terminal(self):
        main, terminal = pty.openpty()
        with subprocess.Popen(demo(), env=environment(), stdout=terminal) as process:
            os.close(terminal)
            shown = b""
            while True:
                try:
                    piece = os.read(main, 65536)
                except OSError:  # how Linux says that the other side is closed
                    break
                if not piece:
                    break
                shown += piece
        os.close(main)
        self.assertEqual(process.returncode, 0, shown)
        # Four tenants, and with the daemon their two GPUs.
        self.assertIn(b"\033[6A" if SHARED else b"\033[4A", shown)
        self.assertIn(b"[####", shown)

    def test_shows_a_tenant_that_fails(self):
        done = run(demo(), NVSHARE_SIM_FAIL="cuGraphLaunch:3:1:719")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"graph +1  FAIL")
        self.assertIn("cuGraphLaunch failed: CUDA_ERROR_LAUNCH_FAILED", done.stdout)
        self.assertEqual(done.stdout.count("  PASS  "), 2 * (TENANTS - 1), done.stdout)

    def test_takes_its_tenants_along_when_interrupted(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(signal_number=signal_number):
                self.interrupt(signal_number)

    def interrupt(self, signal_number):
        # Of its own: the next test's tenants must not meet those that are just being ended.
        machine = f"{MACHINE}-signal-{signal_number}"
        settings = environment(NVSHARE_SIM_TIME="20", NVSHARE_SIM_MACHINE=machine)
        children = 5 if SHARED else 4  # four tenants, and the daemon
        with subprocess.Popen(
            demo(), env=settings, stdout=subprocess.PIPE, start_new_session=True
        ) as process:
            tenants = wait_until(lambda: children_of(process.pid), enough=children)
            process.send_signal(signal_number)
            process.communicate(timeout=LIMIT_S)
        expected = -9 if signal_number == signal.SIGKILL else 130
        self.assertEqual(process.returncode, expected)
        left = wait_until(lambda: [pid for pid in tenants if not is_running(pid)], enough=children)
        self.assertEqual(sorted(left), sorted(tenants))


class RealGpusOnly(unittest.TestCase):
    def test_nothing_is_simulated_where_there_is_none(self):
        command = [f"{BIN}/nvshare-demo", "--gpu", "--length", "0.1"]
        done = run(command, NVSHARE_CUDA_LIBRARY="/nowhere/libcuda.so.1")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, r"\Anvshare-demo: no GPU can be used: .*without --gpu")


class MoreMemoryThanThereIs(unittest.TestCase):
    def test_shows_what_nvshare_and_unified_memory_make_of_it(self):
        done = run([f"{BIN}/nvshare-demo", "--length", "0.1"])  # all parts, as `make demo`
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        if not SHARED:
            return
        tasks = r"(?m)^  task \d  GPU [01]  \[.{30}\] +[\d.]+  .*, PASS$"
        self.assertGreaterEqual(len(re.findall(tasks, done.stdout)), 8, done.stdout)
        names = ("nvshare, two GPUs", "nvshare, one GPU", "Unified Memory, one GPU")
        for name in names:
            self.assertIn(f"\n{name}\n", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^On one GPU all four together: ")
        self.assertRegex(done.stdout, r"(?m)^PASS in ")

    def test_a_task_that_fails_is_told(self):
        if not SHARED:
            self.skipTest("tenants with a sanitizer take no library")
        failing = {"NVSHARE_SIM_FAIL": "cuLaunchKernel:20:1:719"}
        done = run([f"{BIN}/nvshare-demo", "--show", "swapping", "--length", "0.1"], **failing)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(", FAIL\n", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^FAIL in ")


class Quotas(unittest.TestCase):
    def quotas(self, *arguments, **extra):
        options = ["--sim", "t4", "--show", "quotas", "--length", "0.25", *arguments]
        return run([f"{BIN}/nvshare-demo", *options], **extra)

    def test_shows_what_each_got_before_and_after_its_cap_changed(self):
        done = self.quotas()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        if not SHARED:
            self.assertIn("Quotas need the daemon (programs with a sanitizer", done.stdout)
            return
        row = r"(?m)^add, (\w+) +0 +(\d+) +[\d.]+ +(\d+) +[\d.]+ +[\d.]+  PASS$"
        caps = [("first", "30", "60"), ("second", "60", "30")]
        self.assertEqual(re.findall(row, done.stdout), caps, done.stdout)

    def test_needs_the_daemon(self):
        done = self.quotas("--no-daemon")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Quotas need the daemon (as asked for), and are left out.", done.stdout)
        self.assertNotIn("cap %", done.stdout)

    def test_marks_a_tenant_that_fails(self):
        if not SHARED:
            self.skipTest("tenants with a sanitizer take no library")
        done = self.quotas(NVSHARE_SIM_FAIL="cuLaunchKernel:20:1:719")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^add, first .*  FAIL$")


class DemoAndDaemon(unittest.TestCase):
    """The programs beside a daemon of our making."""

    def setUp(self):
        if not SHARED:
            self.skipTest("tenants with a sanitizer take no library")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.programs = pathlib.Path(folder.name, "bin")
        self.programs.mkdir()
        for name in ("nvshare-demo", "nvshare-workload"):
            shutil.copy(f"{BIN}/{name}", self.programs / name)
        pathlib.Path(folder.name, "lib").symlink_to(pathlib.Path(BIN).resolve().parent / "lib")

    def place(self, text):
        path = self.programs / "nvshare-scheduler"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def test_goes_on_without_a_daemon(self):
        done = run(demo(programs=self.programs))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"Without the daemon \(it cannot be started: .*nvshare-sched")

    def test_says_why_the_daemon_did_not_start(self):
        self.place("#!/bin/sh\necho the moon is full >&2\nexit 3\n")
        done = run(demo(programs=self.programs))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("it cannot be started: it ended with code 3; it printed:", done.stdout)
        self.assertIn("the moon is full", done.stdout)

    def test_shows_what_the_daemon_says(self):
        self.place(FAKE.read_text(encoding="utf-8"))
        done = run(demo("--gpus", "1", programs=self.programs))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^add 12 GB +0 +1\.50 +100 +42 +125$")
        self.assertRegex(done.stdout, r"(?m)^add 4 GB, second +0 +0\.00 +0 +42 +125$")

    def test_says_that_the_daemon_was_lost(self):
        self.place(FAKE.read_text(encoding="utf-8"))
        done = run(demo("--gpus", "1", programs=self.programs), FAKE_ANSWERS="5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("The daemon's status: ", done.stdout)
        self.assertEqual(done.stdout.count("  PASS  "), 2 * TENANTS, done.stdout)


class Workload(unittest.TestCase):
    def test_says_what_happens_in_json(self):
        done = run(workload("add", "--iterations", "5", "--status-fd", "1", "--size", "1G"))
        self.assertEqual(done.returncode, 0, done.stderr)
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        names = [event["event"] for event in events]
        self.assertEqual((names[0], names[-1]), ("ready", "result"))
        self.assertTrue(events[-1]["pass"])
        self.assertEqual(events[-1]["iterations"], 5)

    def test_stops_after_the_seconds_asked_for(self):
        done = run(workload("add-small", "--seconds", "0.5"))
        self.assertEqual(done.returncode, 0, done.stderr)
        # Not before, and no word on how much later a slow machine gets there.
        self.assertRegex(done.stdout, r"add-small: PASS  (0\.[5-9]|[1-9]\d*\.\d) s")

    def test_explains_errors(self):
        done = run(workload("add", "--size", "900G"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY", done.stderr)
        self.assertIn("--size", done.stderr)
        done = run(workload("add", "--device", "9"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("CUDA_ERROR_INVALID_DEVICE", done.stderr)
        self.assertEqual(run(workload("subtract")).returncode, 2)
        self.assertEqual(run(workload("add", "--size", "huge")).returncode, 2)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def is_running(pid):
    """A process that nobody has waited for yet is over all the same."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(look, enough):
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        found = look()
        if len(found) >= enough:
            return found
        time.sleep(0.05)
    return look()


def remove_machine():
    """What is left of a machine whose processes were all killed."""
    pathlib.Path(f"/dev/shm/nvshare-sim-{os.getuid()}-{MACHINE}").unlink(missing_ok=True)


if __name__ == "__main__":
    BIN, SIMULATOR, SHARED = sys.argv[1], sys.argv[2], sys.argv[3] == "shared"
    unittest.addModuleCleanup(remove_machine)
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
