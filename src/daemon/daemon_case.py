# SPDX-License-Identifier: Apache-2.0
"""What tests of the program itself share: nvshare-scheduler in a folder of its own, with its log,
and the clients and administrators that talk to it."""

import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import unittest

from admin_ask import ask_admin
from wire_client import PATIENCE_S, Client

SCHEDULER = sys.argv.pop(1) if len(sys.argv) > 1 else "nvshare-scheduler"
GPU = bytes(range(1, 17))
OTHER_GPU = bytes(range(101, 117))


def environment(**extra):
    ours = ("NVSHARE_", "NOTIFY_", "WATCHDOG_", "JOURNAL_", "KUBERNETES_", "NODE_NAME")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    # No NVML: GPUs are those that the clients name, whatever the machine has.
    return {**kept, "NVSHARE_NVML": "/nonexistent/libnvidia-ml.so.1", **extra}


class Daemon:
    """The program, and what it has logged."""

    def __init__(self, folder, *arguments, user=None, preexec_fn=None, **variables):
        self.process = subprocess.Popen(
            [SCHEDULER, "--folder", str(folder), *arguments],
            env=environment(**variables),
            stderr=subprocess.PIPE,
            user=user,
            preexec_fn=preexec_fn,
        )
        self.log = []
        self.unread = b""

    def next_line(self):
        """The next line of the log; None at its end."""
        pipe = self.process.stderr
        while b"\n" not in self.unread:
            ready = select.select([pipe], [], [], PATIENCE_S)[0]
            assert ready, "nothing more in the log:\n" + "\n".join(self.log)
            piece = os.read(pipe.fileno(), 1 << 16)
            if not piece:
                return None
            self.unread += piece
        line, _, self.unread = self.unread.partition(b"\n")
        self.log.append(line.decode())
        return self.log[-1]

    def wait_for_log(self, *words):
        """The next line that holds all of these words."""
        while (line := self.next_line()) is not None:
            if all(word in line for word in words):
                return line
        raise AssertionError(f"no line with {words} in the log:\n" + "\n".join(self.log))

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        while self.next_line() is not None:
            pass
        return self.process.wait(PATIENCE_S)


class DaemonCase(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve() / "node"
        self.daemon = None

    def start(self, *arguments, **more):
        self.daemon = Daemon(self.folder, *arguments, **more)
        self.addCleanup(self.clean, self.daemon)
        self.daemon.wait_for_log("ready")
        return self.daemon

    def clean(self, daemon):
        if daemon.process.poll() is None:
            daemon.process.kill()
        if not daemon.process.stderr.closed:
            daemon.wait()
            daemon.process.stderr.close()
        # The exit status of a daemon that is killed does not tell.
        found = [line for line in daemon.log if "Sanitizer: " in line or "runtime error: " in line]
        self.assertEqual(found, [], "\n".join(daemon.log))

    def files(self):
        """How many descriptors the daemon has."""
        return len(os.listdir(f"/proc/{self.daemon.process.pid}/fd"))

    def connect(self):
        client = Client(self.folder)
        self.addCleanup(client.close)
        return client

    def tenant(self, run, uuid=GPU, **fields):
        """A client that has joined and named one GPU."""
        client = self.connect()
        client.join(run, **fields)
        client.use(uuid)
        return client

    def ask(self, **request):
        """The answer to an administrator's request."""
        answer = ask_admin(self.folder, PATIENCE_S, **request)
        self.assertTrue(answer["ok"], answer)
        return answer.get("result")

    def states(self):
        """The state of each tenant on its GPUs, by name."""
        tenants = self.ask(command="status")["tenants"]
        return {one["name"]: [on["state"] for on in one["gpus"]] for one in tenants}
