#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that never touch CUDA, with and without the library, under strace: the same results, and
no system call of ours beyond those by which the loader brings the library in.

usage: bystanders_test.py LIBRARY [UNITTEST_ARGUMENT...]
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import NamedTuple

from system_calls import Trace

LIBRARY = ""

THREADS = """
import threading
done = []
threads = [threading.Thread(target=done.append, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(done))
"""
LOOK_UP = "import ctypes; print(ctypes.CDLL(None).abs(-3))"

# Not compared by number, for any program. One library more moves the loader's own memory about and
# has its relocations protected; where the kernel gives no clock without a call, time is a call.
LOADER_NOISE = {"mmap", "munmap", "mprotect", "mremap", "madvise", "brk"}
CLOCK_NOISE = {"clock_gettime", "gettimeofday", "time"}
# Who waits for whom is luck; and Python joins a thread when it has no more use for it, a few calls
# before its end, so that the program may be over before they are made.
THREAD_NOISE = {"futex", "sched_yield", "exit", "rt_sigprocmask"}
# Children that end together are one signal or two, and interrupt what waits for them or not.
CHILD_NOISE = {"rt_sigreturn", "rt_sigsuspend", "wait4", "waitid"}


class Result(NamedTuple):
    status: int
    stdout: str
    stderr: str
    trace: Trace


def environment(folder):
    """Little, and the same everywhere: what is in it decides what programs look for."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(folder), "LC_ALL": "C"}


def run(command, library=None):
    """The program in a folder of its own. Its threads are traced into a file each, so that no line
    is torn by another."""
    with tempfile.TemporaryDirectory() as name:
        home, traces = pathlib.Path(name, "home"), pathlib.Path(name, "traces")
        home.mkdir()
        traces.mkdir()
        (home / "file").write_text("text\n", encoding="ascii")
        preload = ["-E", f"LD_PRELOAD={library}"] if library else []
        strace = ["strace", "-ff", "-qq", "-s", "4096", "-o", str(traces / "thread"), *preload]
        done = subprocess.run(
            [*strace, "--", *command],
            cwd=home,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
        )
        trace = Trace.read(sorted(traces.iterdir()))
        left = {path.name for path in home.iterdir()}
        if left != {"file"}:
            raise AssertionError(f"files were made: {left}")
    return Result(
        done.returncode, done.stdout, done.stderr.replace(name, "FOLDER"), masked(trace, name)
    )


def masked(trace, folder):
    """Two runs differ in the name of their folder, and that is no difference."""
    return Trace(
        [call._replace(arguments=call.arguments.replace(folder, "FOLDER")) for call in thread]
        for thread in trace.threads
    )


def setUpModule():
    """A machine on which nothing can be traced must not look like one on which all is well."""
    if not shutil.which("strace"):
        raise AssertionError("strace is missing: tools/install_packages.sh test")
    probe = run(["true"])
    if probe.status != 0 or probe.trace.programs() != 1:
        raise AssertionError(
            "strace cannot trace here; allow ptrace (docker run --cap-add SYS_PTRACE, or "
            f"kernel.yama.ptrace_scope below 3): {probe.stderr.strip()}"
        )


class Bystanders(unittest.TestCase):
    def check(self, command, status, stdout, noise=frozenset()):
        without, sharing = run(command), run(command, LIBRARY)
        self.assertEqual((without.status, without.stdout), (status, stdout), without.stderr)
        self.assertEqual(sharing[:3], without[:3])
        self.check_files(without.trace, sharing.trace)
        ours = sharing.trace.without_loading(LIBRARY)
        self.assertEqual(ours.started(), without.trace.started())
        self.assertEqual(ours.reached(), without.trace.reached())
        self.assertEqual(ours.written(), without.trace.written())
        noise = LOADER_NOISE | CLOCK_NOISE | noise
        counts = [
            {name: count for name, count in trace.names().items() if name not in noise}
            for trace in (ours, without.trace)
        ]
        self.assertEqual(*counts)

    def check_files(self, without, sharing):
        """Each program that was begun has opened the library, and nothing else is different."""
        self.assertEqual(without.opened() - sharing.opened(), {})
        more = sharing.opened() - without.opened()
        self.assertEqual({path for path, _ in more}, {LIBRARY})
        self.assertEqual(sum(more.values()), sharing.programs())

    def test_shell(self):
        self.check(["sh", "-c", "echo hi; exit 3"], 3, "hi\n")

    def test_shell_that_starts_programs(self):
        script = "cat file | cat; (exit 2); ls; echo error >&2; exit 4"
        self.check(["sh", "-c", script], 4, "text\nfile\n", CHILD_NOISE)

    def test_ls(self):
        self.check(["ls", "-l", "-n", "--time-style=+", "file"], 0, self.listing())

    def listing(self):
        """ls says who owns the file, so it is asked."""
        return run(["ls", "-l", "-n", "--time-style=+", "file"]).stdout

    def test_git(self):
        if not shutil.which("git"):
            self.skipTest("there is no git on this machine")
        version = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)
        self.check(["git", "--version"], 0, version.stdout)

    def test_python(self):
        self.check([sys.executable, "-I", "-B", "-c", "print(1)"], 0, "1\n")

    def test_python_that_looks_up_symbols(self):
        """ctypes calls dlsym, which is ours, for names that are not."""
        self.check([sys.executable, "-I", "-B", "-c", LOOK_UP], 0, "3\n")

    def test_python_with_threads(self):
        command = [sys.executable, "-I", "-B", "-c", THREADS]
        self.check(command, 0, "[0, 1, 2, 3]\n", THREAD_NOISE)


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv[1]).resolve())
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
