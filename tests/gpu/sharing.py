# SPDX-License-Identifier: Apache-2.0
"""Runs tenants side by side for share.py, and keeps the table of what they got."""

import os
import pathlib
import re
import subprocess
import time

import judging

# What children must not inherit: each run says itself what it preloads and sets.
CLEARED = ("LD_PRELOAD", "TAG")
CLEARED_PREFIX = "NVSHARE_"
# What a process may need after its measurement.
END_S = 30
LATENCY = re.compile(r"p50 (\d+) us p99 (\d+) us")


class RunFailed(Exception):
    """A program did not do what it is there for; the text says which and how."""


def find_build(parser, options, needed):
    """Where the library and the daemon of --build are. They and `needed` must be there."""
    options.library = options.build / "lib" / "libnvshare.so"
    options.scheduler = options.build / "bin" / "nvshare-scheduler"
    for path in (options.library, options.scheduler, *needed):
        if not path.exists():
            parser.error(f"there is no {path}")


def farthest_from_equal(rates):
    """How far the rate that is farthest from the mean of all is from it, in percent."""
    mean = sum(rates) / len(rates)
    return 100 * max(abs(rate / mean - 1) for rate in rates)


def bare_environment():
    """Of a tenant without any of nvshare."""
    return {
        key: value
        for key, value in os.environ.items()
        if key not in CLEARED and not key.startswith(CLEARED_PREFIX)
    }


class Bench:
    def __init__(self, options, folder, deadline):
        self._options = options
        self._folder = pathlib.Path(folder)
        self._deadline = deadline
        self._runs = 0

    def bare(self):
        return bare_environment()

    def shared(self):
        """The environment of a tenant under the daemon."""
        library = str(self._options.library.resolve())
        return self.bare() | {"LD_PRELOAD": library, "NVSHARE_FOLDER": str(self._folder)}

    def rates(self, kind, tenants, seconds):
        """What tq.py reaches in each of these environments, from a common start."""
        start = time.time() + (self._options.load_seconds if len(tenants) > 1 else 0)
        arguments = ["tq.py", kind, seconds, f"{start:.3f}"]
        texts = self._together([(arguments, tenant) for tenant in tenants], seconds)
        return [self._rate(text) for text in texts]

    def requests_beside(self, kind, tenant, seconds):
        """The rate of tq.py beside lat.py, and what lat.py says of its requests."""
        start = f"{time.time() + self._options.load_seconds:.3f}"
        late = pathlib.Path(__file__).with_name("programs") / "start_at.py"
        runs = [
            (["tq.py", kind, seconds, start], tenant),
            ([late, start, self._options.programs / "lat.py", seconds, "requests"], tenant),
        ]
        texts = self._together(runs, seconds)
        found = LATENCY.search(texts[1])
        if found is None:
            raise RunFailed(f"no latency in what lat.py printed: {texts[1]!r}")
        return self._rate(texts[0]), f"p50 {found.group(1)} us, p99 {found.group(2)} us"

    def _rate(self, text):
        found = judging.RATE.search(text)
        if found is None:
            raise RunFailed(f"no rate in what tq.py printed: {text!r}")
        return float(found.group(1))

    def _together(self, runs, seconds):
        """What programs print that run at the same time; each is (arguments, environment)."""
        limit = 2 * self._options.load_seconds + seconds + END_S
        if time.monotonic() + self._options.load_seconds + seconds > self._deadline:
            raise RunFailed("there is no time left (--budget)")
        self._runs += 1
        processes = []
        try:
            for arguments, environment in runs:
                processes.append(self._start(arguments, environment, len(processes)))
            return [self._end(process, path, limit) for process, path in processes]
        finally:
            for process, _ in processes:
                process.kill()
                process.wait()

    def _start(self, arguments, environment, index):
        program, *rest = map(str, arguments)
        # An absolute path stays what it is.
        command = [self._options.python, str(self._options.programs / program), *rest]
        path = self._folder / f"run_{self._runs}_{index}.txt"
        with path.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        return process, path

    def _end(self, process, path, limit):
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        text = path.read_text(encoding="utf-8", errors="replace")
        if code != 0:
            how = "did not end in its time" if code is None else f"ended with {code}"
            raise RunFailed(f"{' '.join(process.args)} {how}: {text[-1000:]}")
        return text


class Table:
    """Figures with their targets, as Markdown."""

    def __init__(self):
        self.failed = False
        self._rows = []

    def add(self, what, figure, target="", verdict=""):
        self._rows.append((what, figure, target, verdict))

    def percent(self, what, value, at_least=None, at_most=None):
        target, good = "", True
        if at_least is not None:
            target, good = f">= {at_least:g} %", value >= at_least
        if at_most is not None:
            target, good = f"<= {at_most:g} %", value <= at_most
        verdict = "" if not target else "ok" if good else "MISSED"
        self.add(what, f"{value:.2f} %", target, verdict)

    def met(self):
        missed = any(row[3] == "MISSED" for row in self._rows)
        return bool(self._rows) and not self.failed and not missed

    def text(self):
        rows = [("what", "figure", "target", ""), ("---",) * 4, *self._rows]
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)
