# SPDX-License-Identifier: Apache-2.0
"""Runs programs bare and with the library preloaded, and keeps all that they print."""

import concurrent.futures
import dataclasses
import enum
import os
import signal
import subprocess
import threading
import time

# Processes at a time where no time is measured.
TOGETHER_MAX = 10
# What children must not inherit: each kind of run says itself what it preloads and sets.
CLEARED = ("LD_PRELOAD", "TAG")
CLEARED_PREFIX = "NVSHARE_"
CUDA_PROGRAMS = "/usr/local/cuda/bin"
# Same results in each run, and no attempt to reach a network.
COMMON = {
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "HF_HUB_OFFLINE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "TORCHINDUCTOR_COMPILE_THREADS": "4",
    "XLA_PYTHON_CLIENT_MEM_FRACTION": ".2",
}
# Compilers must not find what the other run has compiled.
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUPY_CACHE_DIR")


class Kind(enum.Enum):
    BARE = "bare"
    LIBRARY = "library"


@dataclasses.dataclass
class Outcome:
    name: str
    kind: Kind
    code: int | None  # None: it had to be ended
    stdout: str
    stderr: str
    seconds: float

    def trouble(self, expected_code=0):
        """What is wrong with how the program ended, as a list of at most one sentence."""
        if self.code == expected_code:
            return []
        how = "did not end in its time" if self.code is None else f"ended with {self.code}"
        last = self.stderr.strip().splitlines()[-1:] or ["nothing on stderr"]
        return [f"{self.kind.value} {how}: {last[0][:200]}"]


class Runner:
    def __init__(self, library, out, budget_s):
        self.library = library
        self.out = out
        self.deadline = time.monotonic() + budget_s
        self._slots = threading.BoundedSemaphore(TOGETHER_MAX)

    def seconds_left(self):
        return self.deadline - time.monotonic()

    def environment(self, name, kind, extra):
        cleared = {
            key: value
            for key, value in os.environ.items()
            if key not in CLEARED and not key.startswith(CLEARED_PREFIX)
        }
        cache = self.out / "cache" / f"{name}.{kind.value}"
        result = cleared | COMMON | {key: str(cache / key.lower()) for key in CACHES}
        result["PATH"] = os.environ.get("PATH", "") + os.pathsep + CUDA_PROGRAMS
        if kind is Kind.LIBRARY:
            result["LD_PRELOAD"] = str(self.library)
        return result | (extra or {})

    def run(self, name, kind, command, timeout_s, extra=None):
        """Runs one program to its end; `extra` is added to its environment."""
        with self._slots:
            timeout_s = min(timeout_s, self.seconds_left())
            if timeout_s <= 0:
                return Outcome(name, kind, None, "", "there was no time left to run it", 0)
            return self._run(name, kind, list(map(str, command)), timeout_s, extra)

    def _run(self, name, kind, command, timeout_s, extra):
        stem = self.out / f"{name}.{kind.value}"
        paths = [stem.with_name(f"{stem.name}.{stream}") for stream in ("out", "err")]
        start = time.monotonic()
        with paths[0].open("wb") as stdout, paths[1].open("wb") as stderr:
            # A session of its own, so that what it starts ends with it.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=self.environment(name, kind, extra),
                start_new_session=True,
            )
            code = None
            try:
                code = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        seconds = time.monotonic() - start
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
        return Outcome(name, kind, code, *texts, seconds)

    def pair(self, name, command, timeout_s, extra=None):
        """The program bare and with the library, both at once."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = [
                pool.submit(self.run, name, kind, command, timeout_s, extra)
                for kind in (Kind.BARE, Kind.LIBRARY)
            ]
            return [run.result() for run in runs]

    def pair_in_turn(self, name, command, timeout_s, extra=None):
        return [self.run(name, kind, command, timeout_s, extra) for kind in Kind]
