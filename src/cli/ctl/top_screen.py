# SPDX-License-Identifier: Apache-2.0
"""nvsharectl top in a terminal: the tests of program_test.py that need one."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import fake_daemon

NVSHARECTL = ""
PATIENCE_S = 60
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
TO_TOP = b"\x1b[H"


class Screen:
    """The program with a terminal of its own, of which we are the other end."""

    def __init__(self, folder, rows=24, columns=80):
        self.ours, self.theirs = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.theirs)
        self.seen = b""
        self.process = subprocess.Popen(
            [NVSHARECTL, "--folder", str(folder), "top"],
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            env={**os.environ, "TERM": "xterm"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def resize(self, rows, columns):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.ours, keys)

    def read(self):
        if select.select([self.ours], [], [], 0.05)[0]:
            self.seen += os.read(self.ours, 65536)

    def wait_for(self, text):
        """Until the text appears in what was drawn since the last call; returns what was drawn."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} is not in what ends {self.seen[-1000:]!r}")
            self.read()
        drawn, self.seen = self.seen, b""
        return drawn

    def end(self):
        """The exit code, and what was drawn until then."""
        while self.process.poll() is None:
            self.read()
        # What it drew last comes in pieces, and may still be on its way.
        end = time.monotonic() + PATIENCE_S
        while not self.seen.endswith(LEAVE) and time.monotonic() < end:
            self.read()
        return self.process.returncode, self.seen

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)


class Top(fake_daemon.WithFakeDaemon):
    def screen(self):
        screen = Screen(self.folder)
        self.addCleanup(screen.close)
        screen.wait_for(b"train.py")
        return screen

    def assert_restored(self, screen, drawn):
        self.assertTrue(drawn.endswith(LEAVE), drawn)
        self.assertIn(b"\x1b[?25h", drawn)
        self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)

    def test_q_ends_it(self):
        screen = self.screen()
        self.assertNotEqual(termios.tcgetattr(screen.theirs), screen.before)
        screen.press(b"q")
        code, drawn = screen.end()
        self.assertEqual(code, 0)
        self.assert_restored(screen, drawn)

    def test_signals_restore_the_terminal(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            screen = self.screen()
            screen.process.send_signal(number)
            code, drawn = screen.end()
            self.assertEqual(code, -number)
            self.assert_restored(screen, drawn)

    def test_control_c_and_z(self):
        screen = self.screen()
        screen.press(b"\x1a")
        screen.wait_for(LEAVE)
        os.waitpid(screen.process.pid, os.WUNTRACED)
        self.assertEqual(termios.tcgetattr(screen.theirs), screen.before)
        screen.process.send_signal(signal.SIGCONT)
        screen.wait_for(ENTER)
        screen.wait_for(b"train.py")
        screen.press(b"\x03")
        code, drawn = screen.end()
        self.assertEqual(code, -signal.SIGINT)
        self.assert_restored(screen, drawn)

    def test_keys_reach_the_daemon(self):
        screen = self.screen()
        screen.press(b"p")
        screen.wait_for(b"paused")
        screen.press(b"p")
        screen.wait_for(b"resume train.py")
        screen.press(b"\x1b[B-")
        screen.wait_for(b"priority normal for serve.py")
        asked = [request for request in self.daemon.requests if request["command"] != "status"]
        self.assertEqual(
            asked,
            [
                {"command": "pause", "tenant": 1},
                {"command": "resume", "tenant": 1},
                {"command": "priority", "priority": "normal", "tenant": 2},
            ],
        )

    def test_a_refusal_is_shown(self):
        screen = self.screen()
        self.daemon.answers["pause"] = '{"ok":false,"code":"denied","error":"not you"}'
        screen.press(b"p")
        screen.wait_for(b"not you")

    def test_help_and_sizes(self):
        screen = self.screen()
        screen.press(b"h")
        screen.wait_for(b"raise or lower its priority")
        screen.press(b"x")
        screen.wait_for(b"train.py")
        screen.resize(4, 20)
        os.kill(screen.process.pid, signal.SIGWINCH)
        drawn = screen.wait_for(b"sorted by share; h..")
        # Before, it may have been drawn again in the old size.
        self.assertNotIn(b"h: help", drawn.rpartition(TO_TOP)[2])

    def test_a_daemon_that_comes_back(self):
        screen = self.screen()
        self.daemon.close()
        screen.wait_for(b"admin.sock")
        (self.folder / "admin.sock").unlink()
        back = fake_daemon.FakeDaemon(self.folder)
        self.addCleanup(back.close)
        back.status["tenants"][0]["name"] = "again.py"
        screen.wait_for(b"again.py")

    def test_a_terminal_that_goes_away(self):
        screen = self.screen()
        os.close(screen.theirs)
        os.close(screen.ours)
        screen.process.wait(PATIENCE_S)
        screen.ours, screen.theirs = os.pipe()

    def test_without_a_terminal(self):
        done = subprocess.run(
            [NVSHARECTL, "--folder", str(self.folder), "top"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("top needs a terminal", done.stderr)
