# SPDX-License-Identifier: Apache-2.0
"""A process of the fault tests: what it says, line by line, and how it ends."""

import subprocess
import tempfile
import threading

# Only a test that fails waits so long.
PATIENCE_S = 60


class Tenant:
    def __init__(self, command, environment):
        self.words = command[1:]
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
        )
        self.pid = self.process.pid
        self.lines = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.decode().strip())
                self.changed.notify_all()
        with self.changed:
            self.lines.append("(end)")
            self.changed.notify_all()

    def wait_for(self, condition, what):
        with self.changed:
            good = self.changed.wait_for(lambda: condition() or self._failed(), PATIENCE_S)
            assert good and condition(), f"no {what} from {self}"

    def _failed(self):
        return any(line.startswith("failed") for line in self.lines) or "(end)" in self.lines

    def wait_for_line(self, start, number=1):
        """The line of that number that starts so."""
        found = lambda: [line for line in self.lines if line.startswith(start)][number - 1 :]
        self.wait_for(found, f"line {number} that starts with '{start}'")
        return found()[0]

    def progress(self):
        with self.changed:
            return sum(line.startswith("at ") for line in self.lines)

    def wait_for_progress(self, more=3):
        """So many rounds that end from now on."""
        wanted = self.progress() + more
        self.wait_for(
            lambda: sum(line.startswith("at ") for line in self.lines) >= wanted,
            f"{wanted} rounds",
        )

    def say(self, word="go"):
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()

    def finish(self):
        """Tells it to stop, and takes its word that all its data was right."""
        self.say("stop")
        self.check_ok()

    def check_ok(self):
        self.wait_for_line("ok")
        assert self.process.wait(PATIENCE_S) == 0, self

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def end(self):
        if self.process.poll() is None:
            self.kill()
        self.reader.join(PATIENCE_S)
        self.process.stdout.close()
        self.process.stdin.close()
        self.errors.close()

    def __str__(self):
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace")
        return f"{self.words} ({self.pid}): {self.lines[-8:]} {text[-1000:]}"
