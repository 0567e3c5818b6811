# SPDX-License-Identifier: Apache-2.0
"""Runs the node daemon in a folder for the time of a measurement."""

import json
import pathlib
import socket
import subprocess
import time

READY_S = 15
STOP_S = 5
LOOK_S = 0.05


class Scheduler:
    """A daemon that is ready when the `with` block begins, and gone when it ends."""

    def __init__(self, program, folder, window, options=(), environment=None):
        self.folder = pathlib.Path(folder)
        self._log = self.folder / "scheduler.log"
        self._command = [program, "--folder", folder, "--log-level", "warning", *options]
        if window is not None:  # else the daemon's own
            self._command += ["--window", window]
        self._environment = environment
        self._process = None

    def __enter__(self):
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                list(map(str, self._command)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
            )
        deadline = time.monotonic() + READY_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise SystemExit(f"the daemon does not get ready:\n{self.log()}")
            time.sleep(LOOK_S)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def log(self):
        return self._log.read_text(encoding="utf-8", errors="replace")[-4000:]

    @property
    def pid(self):
        return self._process.pid

    def ask(self, command, **arguments):
        """The daemon's answer, as docs/daemon.md has it."""
        with socket.socket(socket.AF_UNIX) as admin:
            admin.settimeout(READY_S)
            admin.connect(str(self.folder / "admin.sock"))
            admin.sendall(json.dumps({"command": command, **arguments}).encode() + b"\n")
            with admin.makefile("r", encoding="utf-8") as answers:
                answer = json.loads(answers.readline())
        if answer.get("ok") is not True:
            raise ValueError(f"the daemon refuses {command}: {answer}")
        return answer["result"]

    def _answers(self):
        try:
            self.ask("status")
            return True
        except (OSError, ValueError):
            return False
