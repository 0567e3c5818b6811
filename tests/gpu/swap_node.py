# SPDX-License-Identifier: Apache-2.0
"""A daemon with little GPU memory and the programs that share it, for swap.py."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import running
import scheduler
import swap_figures

LOOK_S = 0.5
# Beyond what a trace is asked for: the clock of this program is not the daemon's.
MARGIN_S = 5
PRESET = "h200"
ANONYMOUS = re.compile(r"^RssAnon:\s+(\d+) kB", re.MULTILINE)


class Child:
    """A program with its output in a file; what it starts ends with it."""

    def __init__(self, name, command, environment, path):
        self.name = name
        self.path = path
        self.tenant = None  # its number at the daemon, once it has come
        self.cut = False
        with path.open("wb") as output:
            self.process = subprocess.Popen(
                list(map(str, command)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def runs(self):
        return self.process.poll() is None

    def text(self):
        return self.path.read_text(encoding="utf-8", errors="replace")

    def kill(self):
        self.cut = self.cut or self.runs()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def trouble(self):
        """How it ended, if not well; else an empty string."""
        if not self.cut and self.process.returncode == 0:
            return ""
        how = "did not end in its time" if self.cut else f"ended with {self.process.returncode}"
        return f"{how}: {swap_figures.last_line(self.text())[-160:]}"


class Machine:
    """Where programs run: the environment they get, and the simulator in place of a GPU if asked
    for. `memory` is nominal, in GiB, as the sizes of workloads are."""

    def __init__(self, options):
        self._options = options
        self._simulator = {}
        if options.sim:
            library = options.build / "lib" / "sim"
            self._simulator = {
                "NVSHARE_SIM_MACHINE": f"swap-{os.getpid()}",
                "NVSHARE_SIM_PRESET": PRESET,
                "NVSHARE_SIM_SCALE": str(options.sim),
                "NVSHARE_NVML": str((library / "libnvidia-ml.so.1").resolve()),
                "NVSHARE_CUDA_LIBRARY": str((library / "libcuda.so.1").resolve()),
            }

    def environment(self, **extra):
        """That of a program without any of nvshare. Preallocation of JAX is as it comes."""
        kept = {
            key: value
            for key, value in os.environ.items()
            if key not in running.CLEARED
            and not key.startswith((running.CLEARED_PREFIX, "XLA_", "PYTORCH_"))
        }
        common = {key: value for key, value in running.COMMON.items() if not key.startswith("XLA_")}
        return kept | common | self._simulator | extra

    def memory(self, gib):
        return str((gib << 30) // (self._options.sim or 1))


class Node:
    """Programs side by side under a daemon, all gone when the `with` block ends."""

    def __init__(self, options, memory_gib=None, turn="1s"):
        self._options = options
        self._machine = Machine(options)
        self._memory_gib = memory_gib  # None: no daemon
        self._turn = turn
        self._exits = contextlib.ExitStack()
        self.children = []
        self.daemon = None
        self._start = time.monotonic()

    def __enter__(self):
        name = tempfile.TemporaryDirectory(prefix="nvshare-swap-")
        self._folder = pathlib.Path(self._exits.enter_context(name))
        if self._memory_gib is not None:
            words = ["--gpu-memory", self._machine.memory(self._memory_gib), "--turn", self._turn]
            daemon = scheduler.Scheduler(
                self._options.scheduler, self._folder, None, words, self._machine.environment()
            )
            self.daemon = self._exits.enter_context(daemon)
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
        self._exits.close()

    def start(self, name, command, **extra):
        if self.daemon is not None:
            extra["LD_PRELOAD"] = str(self._options.library.resolve())
            extra["NVSHARE_FOLDER"] = str(self._folder)
        path = self._folder / f"child_{len(self.children)}.txt"
        child = Child(name, command, self._machine.environment(**extra), path)
        self.children.append(child)
        return child

    def start_add(self, name, size, seconds):
        command = [self._options.workload, "add", "--rewrite", "--size", size]
        command += ["--seconds", seconds, "--progress", "none", "--name", name]
        return self.start(name, command)

    def seconds(self):
        return time.monotonic() - self._start

    def until(self, condition, limit_s, each=lambda: None):
        """Waits, and sees meanwhile who is which tenant. False: not within that time."""
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                return False
            if self.daemon is not None:
                self.look()
            each()
            time.sleep(LOOK_S)
        return True

    def until_ended(self, limit_s, each=lambda: None):
        """Waits for the end of all, and kills who has not ended by then."""
        self.until(lambda: not any(child.runs() for child in self.children), limit_s, each)
        for child in self.children:
            child.kill()

    def look(self):
        """The status, with what each child has on the GPU under its name."""
        status = self.daemon.ask("status")
        status["uses"] = {}
        for tenant in status["tenants"]:
            pids = {client["pid"] for client in tenant["clients"]}
            for child in self.children:
                if child.process.pid in pids:
                    child.tenant = tenant["id"]
                    status["uses"].update({child.name: use for use in tenant["gpus"][:1]})
        return status

    def outs(self):
        """The swap-outs so far, by name of the child (or number, of others)."""
        trace = self.daemon.ask("trace", seconds=int(self.seconds()) + MARGIN_S)
        names = {child.tenant: child.name for child in self.children}
        outs = swap_figures.swap_outs(trace["moves"])
        return {names.get(tenant, f"tenant {tenant}"): swaps for tenant, swaps in outs.items()}


def counts_of(pid):
    """Descriptors, mappings and anonymous memory of a process; empty if it is gone or going."""
    process = pathlib.Path("/proc", str(pid))
    try:
        anonymous = ANONYMOUS.search((process / "status").read_text(encoding="utf-8"))
        mappings = (process / "maps").read_text(encoding="utf-8").splitlines()
        descriptors = os.listdir(process / "fd")
    except (FileNotFoundError, ProcessLookupError):
        return {}
    if anonymous is None or not mappings:
        return {}
    return {
        "descriptors": len(descriptors),
        "mappings": len(mappings),
        "anonymous_kib": int(anonymous.group(1)),
    }
