# SPDX-License-Identifier: Apache-2.0
"""A watch as a program, what it prints, and the API server that it talks to."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from fake_api_server import PATIENCE_S, FakeApiServer, Pod  # noqa: E402

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else ""
CHANGES = ("added ", "changed ", "removed ")
# Times that tests would wait for; how long things take on a busy machine changes no result.
QUICK = {"backoff": 50, "healthy": 200}


class Watch:
    """The program, from its start until its standard input is closed."""

    def __init__(self, arguments, variables):
        ours = ("KUBERNETES_", "NODE_NAME", "http_proxy", "https_proxy", "HTTPS_PROXY")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
        self.process = subprocess.Popen(
            [PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**kept, **variables},
        )
        self.lines = []
        self.lock = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.lock:
                self.lines.append(line.rstrip("\n"))
                self.lock.notify_all()

    def changes(self):
        return [line for line in self.lines if line.startswith(CHANGES)]

    def wait(self, condition, what):
        with self.lock:
            if not self.lock.wait_for(condition, PATIENCE_S):
                raise AssertionError("\n".join([f"never: {what}; it said:", *self.lines]))

    def wait_for(self, text):
        """A line that has this text in it."""
        self.wait(lambda: any(text in line for line in self.lines), text)

    def has_last_health(self, text):
        healths = [line for line in self.lines if line.startswith("health ")]
        return bool(healths) and f" {text}" in healths[-1]  # "unreachable" is not "reachable"

    def counted(self, reason):
        """How often it has begun anew for this reason."""
        counts = re.findall(rf" {reason}=(\d+)", "\n".join(self.lines))
        return int(counts[-1]) if counts else 0

    def wait_for_count(self, reason, least):
        self.wait(lambda: self.counted(reason) >= least, f"{reason}={least}")

    def wait_for_health(self, text):
        """What was last said of its health has this text in it, and stays so."""
        self.wait(lambda: self.has_last_health(text), text)

    def end(self):
        """Its exit status; it ends by itself, whatever the server does."""
        self.process.stdin.close()
        status = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        self.process.stdout.close()
        return status


class WatchCase(unittest.TestCase):
    """A server, and watches of it that must end well."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.server = FakeApiServer()
        self.addCleanup(self.stop_server)

    def stop_server(self):
        self.server.stop()
        self.assertEqual(self.server.violations, [])

    def write(self, name, text):
        """As the kubelet does it: at once, for whoever opens it."""
        (self.folder / "new").write_text(text, "ascii")
        (self.folder / "new").rename(self.folder / name)

    def watch(self, *arguments, variables=None, **times):
        watch = self.start(*arguments, variables=variables, **times)
        self.addCleanup(self.finish, watch)
        return watch

    def start(self, *arguments, variables=None, **times):
        words = list(arguments)
        if "--api" not in words and not variables:
            words += ["--api", f"http://127.0.0.1:{self.server.port}"]
        if "--node" not in words and not variables:
            words += ["--node", self.server.node]
        for name, ms in {**QUICK, **times}.items():
            words += [f"--{name}", str(ms)]
        return Watch(words, variables or {})

    def finish(self, watch):
        if not watch.process.stdin.closed:
            self.assertEqual(watch.end(), 0, watch.lines)

    def expect(self, watch, *changes):
        """All changes that it has told since it began, in their order, and no others."""
        watch.wait(lambda: len(watch.changes()) >= len(changes), f"{len(changes)} changes")
        self.assertEqual(watch.changes(), list(changes))


def main():
    unittest.main(verbosity=2)
