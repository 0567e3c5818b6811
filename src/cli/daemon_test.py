#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvshare run and the daemon that it uses or starts, with a script in its place.

usage: daemon_test.py NVSHARE FOLDER_OF_FAKES [UNITTEST_ARGUMENT...]
"""

import contextlib
import ctypes
import fcntl
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

NVSHARE, FAKES = "", pathlib.Path()
FAKE = pathlib.Path(__file__).resolve().parent / "fake_scheduler.py"
SAY_ENVIRONMENT = "import json, os; print(json.dumps(dict(os.environ)))"
SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}[platform.machine()]


def all_cpus():
    """Those that this process could be on."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count()))
    found = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before)
    return sorted(found)


def may_be_more_urgent():
    code = "import os; os.nice(3); os.setpriority(os.PRIO_PROCESS, 0, 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return done.returncode == 0


class Daemons(unittest.TestCase):
    """A user with a runtime folder, and an installation of two programs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.runtime = self.folder / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.own = self.runtime / "nvshare"
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        self.nvshare = shutil.copy(NVSHARE, self.bin / "nvshare")
        self.scheduler = pathlib.Path(shutil.copy(FAKE, self.bin / "nvshare-scheduler"))
        self.scheduler.chmod(0o755)
        self.addCleanup(self.stop)

    def stop(self):
        for start in self.starts():
            try:
                process = os.pidfd_open(start["pid"])
            except ProcessLookupError:
                continue
            # Only if it is still ours: it runs in the folder that this test made.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                command = pathlib.Path(f"/proc/{start['pid']}/cmdline").read_bytes()
                if str(self.own).encode() in command:
                    signal.pidfd_send_signal(process, signal.SIGKILL)
            os.close(process)

    def starts(self, folder=None):
        path = (folder or self.own) / "starts"
        lines = path.read_text("ascii").splitlines() if path.exists() else []
        return list(map(json.loads, lines))

    def variables(self, **extra):
        ours = ("NVSHARE_", "LD_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        library = str(FAKES / "libnvshare.so")
        runtime = str(self.runtime)
        return {**kept, "NVSHARE_LIBRARY": library, "XDG_RUNTIME_DIR": runtime, **extra}

    def run_it(self, *arguments, variables=None, **more):
        return subprocess.run(
            [self.nvshare, "run", *arguments],
            env=self.variables(**(variables or {})),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **more,
        )

    def environment(self, *options, **more):
        done = self.run_it(*options, "--", sys.executable, "-c", SAY_ENVIRONMENT, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)


@unittest.skipIf(
    pathlib.Path("/var/run/nvshare/tenant/scheduler.sock").exists(), "this node has a daemon"
)
class OfTheUser(Daemons):
    def test_is_started_once_and_used_again(self):
        first, second = self.environment(), self.environment("--priority", "high")
        self.assertEqual(len(self.starts()), 1)
        for seen in (first, second):
            self.assertEqual(seen["NVSHARE_FOLDER"], str(self.own))
            self.assertRegex(seen["NVSHARE_RUN"], r"\A[0-9a-f]{16}\Z")
        self.assertNotEqual(first["NVSHARE_RUN"], second["NVSHARE_RUN"])
        self.assertNotIn("NVSHARE_PRIORITY", first)
        self.assertEqual(second["NVSHARE_PRIORITY"], "high")
        self.assertEqual(stat.S_IMODE(self.own.stat().st_mode), 0o700)

    def test_is_detached(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)

        def prepare():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})

        bound = {"NOTIFY_SOCKET": "@x", "LD_PRELOAD": "", "NVSHARE_PRIORITY": "low"}
        more = {"pass_fds": (writer,), "preexec_fn": prepare, "cwd": self.folder}
        self.environment(variables=bound, **more)
        os.close(writer)
        os.set_blocking(reader, False)
        # The end of the file: the daemon has not kept the other end open.
        self.assertEqual(os.read(reader, 1), b"")
        (start,) = self.starts()
        log = str(self.own / "scheduler.log")
        self.assertEqual(start["arguments"], ["--folder", str(self.own), "--exit-when-unused"])
        self.assertEqual(start["files"], {"0": "/dev/null", "1": log, "2": log})
        self.assertEqual(start["folder"], "/")
        self.assertNotIn(start["session"], (os.getsid(0), start["pid"]))
        self.assertRegex(start["status"], r"SigBlk:\t0+\n")
        # Python itself ignores SIGPIPE (13) and SIGXFSZ (25).
        # Signals 32 and 33 are libc's own: nobody can set them, whatever they are inherited as.
        ignored = int(re.search(r"SigIgn:\t([0-9a-f]+)\n", start["status"]).group(1), 16)
        self.assertEqual(ignored & 0x7FFFFFFF, 0x1001000)
        for name in (*bound, "NVSHARE_RUN"):
            self.assertNotIn(name, start["environment"])
        self.assertIn("XDG_RUNTIME_DIR", start["environment"])

    def test_is_not_bound_to_where_the_first_run_was(self):
        def be_bound():
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
            ctypes.CDLL(None).syscall(SET_MEMPOLICY, 2, ctypes.byref(ctypes.c_ulong(1)), 64)
            os.nice(3)
            # Not of processes: this user may have any number of them already.
            for name, lower in (("NOFILE", 300), ("CPU", 1000), ("FSIZE", 1 << 30)):
                hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[1]
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (lower, hard))

        self.environment(preexec_fn=be_bound)
        (start,) = self.starts()
        self.assertEqual(start["cpus"], all_cpus())
        self.assertEqual((start["policy"], start["numa"]), (os.SCHED_OTHER, "default"))
        for name, (soft, hard) in start["limits"].items():
            self.assertEqual(soft, hard, name)
        self.assertEqual(start["niceness"], 0 if may_be_more_urgent() else min(os.nice(0) + 3, 19))

    def test_leaves_the_program_without_a_child(self):
        wait = "import os\ntry:\n os.wait()\nexcept ChildProcessError:\n print('none')"
        done = self.run_it("--", sys.executable, "-c", wait)
        self.assertEqual((done.stdout, done.stderr), ("none\n", ""))

    def test_two_at_once_get_one(self):
        programs = [
            subprocess.Popen(
                [self.nvshare, "run", "--", "sh", "-c", "echo $NVSHARE_FOLDER"],
                env=self.variables(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(6)
        ]
        for program in programs:
            self.assertEqual(program.communicate(timeout=60), (f"{self.own}\n", ""))
            self.assertEqual(program.returncode, 0)
        self.assertEqual(len(self.starts()), 1)

    def test_is_started_again_after_it_was_killed(self):
        self.environment()
        (start,) = self.starts()
        process = os.pidfd_open(start["pid"])
        self.addCleanup(os.close, process)
        signal.pidfd_send_signal(process, signal.SIGKILL)
        # It is nobody's child here, so its end is seen by the lock that it had.
        with (self.own / "lock").open("w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
        self.environment()
        self.assertEqual(len(self.starts()), 2)

    def test_is_not_used_where_others_may_listen(self):
        self.environment()
        words = "other users may write"
        self.own.chmod(0o777)
        if os.geteuid() == 0:
            words = "belongs to another user"
            os.chown(self.own, 65534, 65534)
        done = self.run_it("--", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertRegex(done.stderr, rf"cannot use the folder {self.own} .*{words}")
        self.assertIn("NVSHARE_FOLDER", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_is_the_same_one_with_a_runtime_folder_and_without(self):
        user = 1_500_000_000 + os.getpid()  # nobody's
        self.folder.chmod(0o755)
        of_login = pathlib.Path(f"/run/user/{user}")
        in_tmp = pathlib.Path(f"/tmp/nvshare-{user}")
        for place in (of_login, in_tmp):
            self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        of_login.mkdir(parents=True, mode=0o700)
        os.chown(of_login, user, user)
        with_it = {"XDG_RUNTIME_DIR": str(of_login)}
        without = {"XDG_RUNTIME_DIR": ""}
        for first, second, own in (
            (without, with_it, in_tmp),
            (with_it, without, of_login / "nvshare"),
        ):
            self.own = own  # of which stop() knows
            for variables in (first, second, first):
                more = {"user": user, "group": user, "extra_groups": [], "cwd": "/"}
                seen = self.environment(variables=variables, **more)
                self.assertEqual(seen["NVSHARE_FOLDER"], str(own))
            self.assertEqual(len(self.starts()), 1)
            self.stop()
            shutil.rmtree(own)

    def test_is_found_in_the_path(self):
        other = self.folder / "other"
        other.mkdir()
        self.scheduler.rename(other / "nvshare-scheduler")
        self.environment(variables={"PATH": f"{other}:{os.environ['PATH']}"})
        self.assertEqual(len(self.starts()), 1)

    def test_is_not_started_for_nothing(self):
        self.assertEqual(self.run_it("--", "nvshare-none").returncode, 127)
        self.assertEqual(self.run_it("--disable", "--", "true").returncode, 0)
        seen = self.environment("--no-daemon")
        self.assertEqual(seen["NVSHARE_FOLDER"], "/var/run/nvshare")
        self.assertFalse(self.own.exists())


class OfANamedFolder(Daemons):
    def named(self, **more):
        return {"variables": {"NVSHARE_FOLDER": str(self.own), **more}}

    def test_is_started_there(self):
        self.assertEqual(self.environment(**self.named())["NVSHARE_FOLDER"], str(self.own))
        self.assertEqual(len(self.starts()), 1)

    def test_inside_another_run(self):
        inner = (self.nvshare, "run", "--", sys.executable, "-c", SAY_ENVIRONMENT)
        code = f"import os, json; {SAY_ENVIRONMENT}; import sys; sys.stdout.flush()\n"
        code += f"os.execv({str(inner[0])!r}, {[str(word) for word in inner]!r})"
        done = self.run_it("--priority", "low", "--", sys.executable, "-c", code, **self.named())
        self.assertEqual(done.stderr, "")
        outer, nested = map(json.loads, done.stdout.splitlines())
        for name in ("NVSHARE_RUN", "NVSHARE_FOLDER", "NVSHARE_PRIORITY"):
            self.assertEqual(nested[name], outer[name])
        self.assertEqual(nested["NVSHARE_PRIORITY"], "low")
        self.assertEqual(len(self.starts()), 1)

    def expect_failure(self, text, **more):
        done = self.run_it("--", "echo", "ran", **self.named(), **more)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Anvshare: [^\n]*" + text)
        self.assertIn("--no-daemon" if "folder" not in text else "NVSHARE_FOLDER", done.stderr)

    def test_that_does_not_start(self):
        self.own.mkdir(mode=0o700)
        (self.own / "refuse").touch()
        self.expect_failure(r'ended before it listened on(.|\n)*ends:(.|\n)*  level=error msg="no')
        done = self.run_it("--no-daemon", "--", "echo", "ran", **self.named())
        self.assertEqual((done.stdout, done.stderr), ("ran\n", ""))

    def test_that_cannot_be_executed(self):
        self.scheduler.write_text("#!/nowhere/python\n", "ascii")
        self.expect_failure("cannot start .*nvshare-scheduler: exec: No such file")
        self.scheduler.unlink()
        self.expect_failure("there is no nvshare-scheduler beside this program in .*bin")

    def test_in_a_folder_that_others_could_have_made(self):
        target = self.folder / "target"
        target.mkdir()
        self.own.symlink_to(target)
        self.expect_failure("cannot use the folder .*nvshare .*a link")
        self.own.unlink()
        self.own.mkdir()
        self.own.chmod(0o777)
        self.expect_failure("cannot use the folder .*nvshare .*other users may write")
        self.assertEqual(list(target.iterdir()), [])


if __name__ == "__main__":
    NVSHARE, FAKES = sys.argv[1], pathlib.Path(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
