# SPDX-License-Identifier: Apache-2.0
"""What the fault tests share: a daemon in a folder of its own, a simulated machine of its own, and
tenants on it that run with the library.

Conditions are waited for. Only a test that fails waits for PATIENCE_S.
"""

import contextlib
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import daemon_modules  # noqa: F401
from admin_ask import ask_admin
from tenant import PATIENCE_S, Tenant

BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build").resolve()
PRODUCT = os.environ.get("NVSHARE_FAULTS_LIBRARY", "lib/libnvshare.so")
CHECKED = "lib/test/libnvshare.so"  # looks at both ends of each move of memory
LOOK_AGAIN_S = 0.02
# One that was killed leaves its machine behind, and process numbers come again.
_NUMBERS = itertools.count(time.time_ns())


def environment(**extra):
    """The caller's, without what is ours."""
    ours = ("NVSHARE_", "LD_PRELOAD", "NOTIFY_SOCKET", "WATCHDOG_", "JOURNAL_STREAM")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, **extra}


def open_files(pid):
    """Their names, but of those that are closed meanwhile."""
    for file in pathlib.Path("/proc", str(pid), "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(file)


class FaultCase(unittest.TestCase):
    gpus = 1
    scale = 512
    preset = "t4"
    time = 0.2
    window = "40ms"  # short, for many of them in a test
    nvml = BUILD / "lib/sim/libnvidia-ml.so.1"  # the daemon's
    daemon_options = ()

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="nvshare-faults-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve() / "node"
        self.machine = {
            "NVSHARE_SIM_MACHINE": f"faults-{os.getpid()}-{next(_NUMBERS)}",
            "NVSHARE_SIM_PRESET": self.preset,
            "NVSHARE_SIM_GPUS": str(self.gpus),
            "NVSHARE_SIM_SCALE": str(self.scale),
            "NVSHARE_SIM_TIME": str(self.time),
        }
        self.addCleanup(self.check_machine)
        self.daemon = None
        self.daemon_log = open(pathlib.Path(temporary.name) / "daemon.log", "w+b")
        self.addCleanup(self.daemon_log.close)
        self.addCleanup(self.show_log)
        self.addCleanup(self.kill_daemon)
        self.start_daemon()

    # The daemon.

    def start_daemon(self):
        self.spawn_daemon()
        self.wait_until(self.has_status, "the daemon's status")

    def spawn_daemon(self):
        command = [str(BUILD / "bin/nvshare-scheduler"), "--folder", str(self.folder)]
        command += ["--window", self.window]
        self.daemon = subprocess.Popen(
            [*command, *self.daemon_options],
            env=environment(NVSHARE_NVML=str(self.nvml), **self.machine),
            stderr=self.daemon_log,
        )

    def kill_daemon(self):
        if self.daemon.poll() is None:
            self.daemon.kill()
        self.daemon.wait(PATIENCE_S)

    def has_status(self):
        self.assertIsNone(self.daemon.poll(), "the daemon ended")
        try:
            return self.status()
        except (FileNotFoundError, ConnectionRefusedError):
            return None

    def show_log(self):
        outcome = self._outcome.result if hasattr(self._outcome, "result") else None
        wrong = outcome.errors + outcome.failures if outcome else []
        if any(case is self for case, _ in wrong):
            print(f"--- {self.id()}: the daemon's log\n" + self.log_text()[-6000:], file=sys.stderr)

    def log_text(self):
        self.daemon_log.seek(0)
        return self.daemon_log.read().decode(errors="replace")

    def lines_of(self, tenant_id, message):
        """What the log says of this tenant that begins so."""
        words = (f'msg="{message}', f" tenant_id={tenant_id} ")
        return [line for line in self.log_text().splitlines() if all(map(line.__contains__, words))]

    def wait_for_lines(self, tenant_id, message, number=1):
        """Just so many of them."""
        lines = lambda: self.lines_of(tenant_id, message)
        self.wait_until(lambda: len(lines()) == number, f"{number} x '{message}' in the log", lines)
        return lines()

    # The administrator.

    def ask(self, **request):
        answer = ask_admin(self.folder, PATIENCE_S, **request)
        self.assertTrue(answer["ok"], answer)
        return answer.get("result")

    def nvsharectl(self, *words):
        """What it prints."""
        command = [str(BUILD / "bin/nvsharectl"), "--folder", str(self.folder), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def status(self):
        return self.ask(command="status")

    def row_of(self, tenant):
        """What status says of the tenant of this process; None: nothing."""
        for row in self.status()["tenants"]:
            if any(client["pid"] == tenant.pid for client in row["clients"]):
                return row
        return None

    def on_gpu(self, tenant, gpu=0):
        row = self.row_of(tenant) or {"gpus": []}
        return next((on for on in row["gpus"] if on["gpu"] == gpu), None)

    def state_of(self, tenant, gpu=0):
        on = self.on_gpu(tenant, gpu)
        return on["state"] if on else None

    def states_of(self, *tenants):
        """All at one moment, on the first GPU they have; None: nothing is known of that one."""
        rows = self.status()["tenants"]
        states = {
            client["pid"]: row["gpus"][0]["state"]
            for row in rows
            if row["gpus"]
            for client in row["clients"]
        }
        return [states.get(tenant.pid) for tenant in tenants]

    def wait_for_state(self, tenant, *states, gpu=0):
        self.wait_until(
            lambda: self.state_of(tenant, gpu) in states,
            f"{states} as the state of {tenant.pid}, which is",
            lambda: self.state_of(tenant, gpu),
        )

    def wait_for_windows(self, tenant, more=3):
        """Windows that the tenant gets from now on."""
        # One that has just lost its connection may be there and be gone at the next look.
        on = self.wait_until(lambda: self.on_gpu(tenant), f"{tenant.pid} on the GPU")
        wanted = on["windows"] + more
        self.wait_until(
            lambda: (self.on_gpu(tenant) or {"windows": 0})["windows"] >= wanted,
            f"{wanted} windows of {tenant.pid}, who has",
            lambda: self.on_gpu(tenant),
        )

    def wait_until_forgotten(self, tenant):
        self.wait_until(lambda: self.row_of(tenant) is None, f"{tenant.pid} gone from status")

    def check_segments(self):
        """The daemon has as much host memory as its books say: what went back is really gone."""
        self.wait_until(self.has_segments_of_books, "the segments of the books", self.status)

    def has_segments_of_books(self):
        named = sum(name.startswith("/memfd:nvshare ") for name in open_files(self.daemon.pid))
        host = self.status()["host_memory"]
        written = sum(host[what] for what in ("held_bytes", "ready_bytes", "touching_bytes"))
        return named * host["segment_bytes"] == written

    # The tenants.

    def tenant(self, *words, folder=None, library=PRODUCT, **variables):
        extra = {"NVSHARE_FOLDER": str(folder or self.folder), **self.machine, **variables}
        if library:
            extra["LD_PRELOAD"] = str(BUILD / library)
        command = [str(BUILD / "test/fault_tenant"), *map(str, words)]
        tenant = Tenant(command, environment(**extra))
        self.addCleanup(tenant.end)
        return tenant

    def worker(self, gpu=0, **variables):
        """A tenant that always has work, and has begun."""
        tenant = self.tenant("worker", gpu, **variables)
        tenant.wait_for_progress()
        return tenant

    def check_goes_on(self, *tenants):
        for tenant in tenants:
            tenant.wait_for_progress()

    def finish(self, *tenants):
        """Their data is right, and they leave nothing behind."""
        for tenant in tenants:
            tenant.finish()
        for tenant in tenants:
            self.wait_until_forgotten(tenant)

    # The machine.

    def check_machine(self):
        """Last of all: nobody is left, so nothing may be."""
        for gpu in range(self.gpus):
            auditor = self.tenant("ledger", gpu, library=None)
            line = auditor.wait_for_line("ledger")
            auditor.check_ok()  # as the last process it also removes the machine
            auditor.end()
            self.assertEqual(line.split(), ["ledger", "0", "0", "0"], auditor.lines)
        self.assertFalse(self.machine_file().exists(), f"{self.machine_file()} is left over")

    def machine_file(self):
        name = f"nvshare-sim-{os.getuid()}-{self.machine['NVSHARE_SIM_MACHINE']}"
        return pathlib.Path("/dev/shm", name)

    # Waiting.

    def wait_until(self, condition, what, shown=lambda: ""):
        deadline = time.monotonic() + PATIENCE_S
        while not (result := condition()):
            if time.monotonic() > deadline:
                self.fail(f"waited in vain for {what} {shown()}")
            time.sleep(LOOK_AGAIN_S)
        return result


SIGKILL, SIGSTOP, SIGCONT = signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT
