#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs from outside, on the simulator: what a terminal, a script and Ctrl-C see.

usage: demo_test.py BIN_FOLDER SIMULATED_LIBCUDA [UNITTEST_ARGUMENT...]
"""

import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time
import unittest

BIN, SIMULATOR = "", ""
TENANTS = 10


MACHINE = f"demo-test-{os.getpid()}"


def environment(**extra):
    """A simulated machine of our own, on which time flies."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NVSHARE_")}
    return {**kept, "NVSHARE_SIM_MACHINE": MACHINE, "NVSHARE_SIM_TIME": "0.2", **extra}


def demo(*arguments):
    return [f"{BIN}/nvshare-demo", "--sim", "t4", "--length", "0.1", *arguments]


def workload(*arguments):
    return [f"{BIN}/nvshare-workload", *arguments, "--driver", SIMULATOR]


def run(command, **extra):
    return subprocess.run(
        command, env=environment(**extra), capture_output=True, text=True, timeout=100
    )


class Demo(unittest.TestCase):
    def test_shows_all_tenants_passing(self):
        done = run(demo())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = re.findall(r"^\S.*  [01]  PASS  +[\d.]+  +[\d.]+$", done.stdout, re.MULTILINE)
        self.assertEqual(len(rows), TENANTS, done.stdout)
        for word in ("min", "max", "average"):
            self.assertEqual(len(re.findall(rf"^{word} ", done.stdout, re.MULTILINE)), 2)
        self.assertNotIn("\033", done.stdout)

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
        self.assertIn(b"\033[4A", shown)
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
        settings = environment(NVSHARE_SIM_TIME="20")
        with subprocess.Popen(
            demo(), env=settings, stdout=subprocess.PIPE, start_new_session=True
        ) as process:
            tenants = wait_until(lambda: children_of(process.pid), enough=4)
            process.send_signal(signal_number)
            process.communicate(timeout=30)
        expected = -9 if signal_number == signal.SIGKILL else 130
        self.assertEqual(process.returncode, expected)
        left = wait_until(lambda: [pid for pid in tenants if not is_running(pid)], enough=4)
        self.assertEqual(sorted(left), sorted(tenants))


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
        self.assertRegex(done.stdout, r"add-small: PASS  0\.[5-9] s")

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
    deadline = time.monotonic() + 20
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
    BIN, SIMULATOR = sys.argv[1:3]
    unittest.addModuleCleanup(remove_machine)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
