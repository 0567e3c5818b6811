#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvshare-scheduler as those who start it meet it: flags, folders, signals, the service manager.

usage: program_test.py SCHEDULER [UNITTEST_ARGUMENT...]
"""

import contextlib
import os
import pathlib
import resource
import signal
import socket
import stat
import subprocess
import sys
import unittest

from daemon_case import GPU, SCHEDULER, Daemon, DaemonCase, environment
from wire_client import GOODBYE_STOPPING, GOODBYE_TOO_MANY, PATIENCE_S

NOBODY = 65534
UNUSED_GRACE_S = 2  # kUnusedGrace


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


class CommandLine(unittest.TestCase):
    def run_with(self, *arguments, **variables):
        return subprocess.run(
            [SCHEDULER, *arguments],
            env=environment(**variables),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def test_help_and_version_are_answers(self):
        for flag, words in (("--help", "Usage: nvshare-scheduler"), ("--version", "scheduler 0.")):
            done = self.run_with(flag)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(words, done.stdout)

    def test_help_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [SCHEDULER, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        text = "nvshare-scheduler: cannot write the output\n"
        self.assertEqual((done.returncode, done.stderr), (1, text))

    def test_wrong_usage_says_what_and_where_to_look(self):
        for arguments, words in (
            (("--window", "3s"), "1ms to 1s"),
            (("--mode", "fast"), "auto, serial or concurrent"),
            (("--folder", "here"), "begins with /"),
            (("--folder", "/tmp/" + "x" * 90), "characters, and it has 95"),
            (("--speed", "9"), "--speed"),
            (("more",), "more"),
        ):
            done = self.run_with(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(words, done.stderr)
            self.assertIn("--help", done.stderr)

    def test_a_wrong_level_in_the_environment_is_not_ignored(self):
        done = self.run_with(NVSHARE_LOG="loud")
        self.assertEqual(done.returncode, 2)
        self.assertIn("NVSHARE_LOG", done.stderr)

    def test_a_wrong_mode_or_turn_in_the_environment_is_not_ignored(self):
        for name in ("NVSHARE_SCHEDULING_MODE", "NVSHARE_SWITCH_TIME"):
            done = self.run_with(**{name: "fast"})
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"{name} is auto", done.stderr)


class Limits(DaemonCase):
    def test_as_many_clients_as_there_are_descriptors_for(self):
        # An eighth is for shared memory, 128 are for other things, four for each client, and none
        # of so few for host memory.
        files = 222
        self.assertEqual((files - files // 8 - 128) // 4, 16)
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.start("--host-memory", "64MiB", preexec_fn=limit)
        (warned,) = (line for line in self.daemon.log if "those beyond do not share" in line)
        self.assertIn(f"files={files} clients=16", warned)
        clients = [self.tenant(run + 1) for run in range(16)]
        late = self.connect()
        late.expect("Goodbye", reason=GOODBYE_TOO_MANY)
        late.expect_end()
        self.daemon.wait_for_log("too many clients", f"pid={os.getpid()}")
        clients[0].close()
        self.daemon.wait_for_log("client left")
        self.tenant(17)
        for number, client in enumerate(clients[1:]):
            client.ping(number)

    def test_host_memory_leaves_room_for_clients(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
        self.start("--host-memory", "256GiB", preexec_fn=limit)
        (warned,) = (line for line in self.daemon.log if "less host memory to be lent" in line)
        # Two descriptors for each 256 MiB.
        self.assertIn(f"mib={(1024 - 128 - 128 - 64 * 4) // 2 * 256} usual_mib=262144", warned)
        clients = [self.tenant(run + 1) for run in range(64)]
        for number, client in enumerate(clients):
            client.ping(number)

    def test_where_not_even_a_few_can_come_it_does_not_start(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (150, 150))
        daemon = Daemon(self.folder, preexec_fn=limit)
        self.addCleanup(self.clean, daemon)
        self.assertEqual(daemon.wait(), 1)
        self.assertIn("open files is 150", daemon.log[-1])
        self.assertIn("LimitNOFILE=", daemon.log[-1])

    def test_administrators_wait_while_there_is_no_file_for_them(self):
        daemon = self.start()
        pid = daemon.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as admin:
            admin.settimeout(PATIENCE_S)
            admin.connect(str(self.folder / "admin.sock"))
            admin.sendall(b'{"command":"status"}\n')
            daemon.wait_for_log("cannot take an administrator; trying again soon")
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
            self.assertIn(b"ok", admin.recv(100))
        daemon.end()
        # However often it has tried.
        self.assertEqual(sum("cannot take an" in line for line in daemon.log), 1)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_it_says_that_others_are_more_urgent(self):
        def be_late():
            resource.setrlimit(resource.RLIMIT_NICE, (0, 0))
            os.setpriority(os.PRIO_PROCESS, 0, 19)

        self.folder.parent.chmod(0o755)
        self.folder.mkdir()
        os.chown(self.folder, NOBODY, NOBODY)
        self.start(user=NOBODY, preexec_fn=be_late)
        (warned,) = (line for line in self.daemon.log if "less urgent than ordinary" in line)
        self.assertIn("level=warning", warned)
        self.assertIn("niceness=19", warned)


class Endings(DaemonCase):
    def test_signals_stop_it_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = self.start()
            client, silent = self.tenant(1), self.connect()
            client.ping(1)
            self.assertEqual(daemon.end(number), 0)
            client.expect("Goodbye", reason=GOODBYE_STOPPING)
            client.expect_end()
            silent.expect("Goodbye", reason=GOODBYE_STOPPING)
            self.assertEqual(os.listdir(self.folder / "tenant"), [])
            self.assertFalse((self.folder / "admin.sock").exists())

    def test_a_log_that_nobody_reads_does_not_stop_it(self):
        daemon = self.start()
        # Each client leaves some 300 bytes of lines behind; a pipe takes 65536.
        for number in range(400):
            client = self.connect()
            client.join(number + 1, program=b"x" * 60)
            client.ping(number)
            client.close()
        daemon.next_line()  # and all that was in the pipe
        self.tenant(1000)
        daemon.wait_for_log("lines were lost", "lines=")
        daemon.wait_for_log("client joined")

    def test_a_closed_terminal_does_not_stop_it(self):
        daemon = self.start()
        daemon.process.send_signal(signal.SIGHUP)
        self.tenant(1).ping(1)
        daemon.process.stderr.close()  # nobody reads the log any more
        self.tenant(2).ping(1)
        client = self.tenant(3)
        daemon.process.terminate()
        self.assertEqual(daemon.process.wait(PATIENCE_S), 0)
        client.expect("Goodbye", reason=GOODBYE_STOPPING)

    def program(self, script):
        """A program that connects, does this, says something, and waits for a line or its end."""
        head = "import os, pathlib, sys; from wire_client import Client\n"
        head += "folder = pathlib.Path(sys.argv[1]); client = Client(folder)\n"
        program = subprocess.Popen(
            [sys.executable, "-B", "-c", head + script, str(self.folder)],
            cwd=pathlib.Path(__file__).parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

        def clean():
            program.kill()
            program.communicate()

        self.addCleanup(clean)
        return program

    @staticmethod
    def kill(pidfd):
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    def check_stays(self, daemon):
        """Longer than it would if it were unused."""
        with self.assertRaises(subprocess.TimeoutExpired):
            daemon.process.wait(UNUSED_GRACE_S + 1.5)

    def check_ends(self, daemon):
        self.assertEqual(daemon.wait(), 0)
        self.assertTrue(any("program that came has ended" in line for line in daemon.log))

    def test_unused_it_ends_if_asked_to(self):
        daemon = self.start("--exit-when-unused")
        program = self.program("client.join(1); client.close(); print('left', flush=True); input()")
        self.assertEqual(program.stdout.readline(), b"left\n")
        self.check_stays(daemon)
        program.kill()
        self.check_ends(daemon)

    def test_who_has_only_looked_may_come_minutes_later(self):
        daemon = self.start("--exit-when-unused")
        # As nvshare run: it connects, says nothing, and becomes the program that was asked for.
        later = "import pathlib, sys; from wire_client import Client; print('here', flush=True)\n"
        later += "input(); Client(pathlib.Path(sys.argv[1])).join(1); print('used', flush=True)\n"
        become = "client.close(); python = sys.executable\n"
        become += f"os.execv(python, [python, '-B', '-c', {later!r} + 'input()', sys.argv[1]])"
        program = self.program(become)
        self.assertEqual(program.stdout.readline(), b"here\n")
        self.check_stays(daemon)
        program.stdin.write(b"go\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), b"used\n")
        program.kill()
        self.check_ends(daemon)

    def test_what_a_run_left_behind_may_come_later(self):
        daemon = self.start("--exit-when-unused")
        # As nvshare run of a script that ends before a program that it started uses a GPU: of those
        # who live nobody has ever connected.
        late = "sleep inf & echo $!"
        start = "client.close(); os.environ.update(NVSHARE_RUN='00000000000000ab', "
        start += "NVSHARE_FOLDER=sys.argv[1])\n"
        become = f"os.execv('/bin/sh', ['sh', '-c', {late!r}])"
        program = self.program(start + become)
        pid = int(program.stdout.readline())
        left_behind = os.pidfd_open(pid)  # its number may be another's by the end
        self.addCleanup(os.close, left_behind)
        self.addCleanup(self.kill, left_behind)
        program.wait(PATIENCE_S)
        self.check_stays(daemon)
        self.assertIn(f"pid={pid}", daemon.wait_for_log("something of an nvshare run still lives"))
        self.kill(left_behind)
        self.check_ends(daemon)

    def stop_when_unused(self):
        """A daemon that does nothing until it goes on, and then finds that it may end."""
        daemon = self.start("--exit-when-unused", NVSHARE_LOG="info,visitors:debug")
        program = self.program("input()")
        daemon.wait_for_log("a process has come")
        program.kill()
        daemon.wait_for_log("a process has ended")
        # Once its event loop waits, a signal ends that, and it looks at the time before it looks at
        # who has come. Where it waits is told in words or, to some, as 0.
        process = pathlib.Path(f"/proc/{daemon.process.pid}")
        waits = False
        while not waits:
            os.sched_yield()
            is_asleep = (process / "stat").read_text("ascii").rpartition(")")[2].split()[0] == "S"
            place = (process / "wchan").read_text("ascii")
            waits = is_asleep and ("poll" in place or place in ("", "0"))
        daemon.process.send_signal(signal.SIGSTOP)
        return daemon

    def go_on_when_due(self, daemon):
        self.check_stays(daemon)
        daemon.process.send_signal(signal.SIGCONT)
        daemon.wait_for_log("somebody came at the last moment")

    def test_who_comes_at_the_last_moment_is_served(self):
        daemon = self.stop_when_unused()
        join = "client.join(1); print('in', flush=True); input()"
        late = self.program(f"print('here', flush=True); {join}")
        self.assertEqual(late.stdout.readline(), b"here\n")
        self.go_on_when_due(daemon)
        self.assertEqual(late.stdout.readline(), b"in\n")
        later = self.program(join)
        self.assertEqual(later.stdout.readline(), b"in\n")
        for_all = 0o666 if os.geteuid() == 0 else 0o600
        self.assertEqual(mode(self.folder / "tenant" / "scheduler.sock"), for_all)
        late.kill()
        later.kill()
        self.check_ends(daemon)

    def test_who_has_only_looked_at_the_last_moment_is_waited_for(self):
        daemon = self.stop_when_unused()
        # It is gone by now, and nobody has looked yet for what it may have left behind.
        self.program("").wait(PATIENCE_S)
        self.go_on_when_due(daemon)
        self.check_ends(daemon)

    def test_it_ends_if_nobody_ever_comes(self):
        self.assertEqual(self.start("--exit-when-unused").wait(), 0)


class ServiceManager(DaemonCase):
    def test_it_hears_of_readiness_life_and_the_end(self):
        self.folder.mkdir()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(PATIENCE_S)
            manager.bind(str(self.folder / "notify"))
            # Not so often that the last word finds no room, if nobody listens for a while.
            daemon = self.start(NOTIFY_SOCKET=str(self.folder / "notify"), WATCHDOG_USEC="1000000")
            heard = [manager.recv(100) for _ in range(4)]
            self.assertEqual(heard, [b"READY=1"] + [b"WATCHDOG=1"] * 3)
            self.tenant(1, GPU)
            self.assertEqual(daemon.end(), 0)
            while (said := manager.recv(100)) == b"WATCHDOG=1":
                pass
            self.assertEqual(said, b"STOPPING=1")

    def test_it_hears_of_readiness_once_it_listens(self):
        self.folder.mkdir()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(PATIENCE_S)
            manager.bind(str(self.folder / "notify"))
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as others:
                others.connect(str(self.folder / "notify"))
                with contextlib.suppress(BlockingIOError):
                    while True:
                        others.send(b"of others")
            self.start(NOTIFY_SOCKET=str(self.folder / "notify"))
            self.tenant(1).ping(1)  # and it has told the manager, who has not taken it
            while (said := manager.recv(100)) == b"of others":
                pass
            self.assertEqual(said, b"READY=1")


if __name__ == "__main__":
    unittest.main()
