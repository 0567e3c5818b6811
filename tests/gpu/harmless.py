#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves on a GPU machine that libnvshare.so does no harm: same results, same errors, same speed.

Each check runs a program bare and with the library preloaded and compares. Programs whose speed
does not matter run side by side, the others alone. Exit status 0: every check asked for holds.
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import pathlib
import sys
import threading
import time
import traceback
from collections.abc import Callable

import checks_programs as programs
import checks_rates as rates
import checks_tools as tools
import judging
import running

FOLDER = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Check:
    name: str
    run: Callable
    alone: bool = False


CHECKS = (
    Check("preloaded", programs.preloaded),
    *(Check(f"train_{mode}", programs.train(mode)) for mode in programs.MODES),
    *(Check(name, programs.jax(name, preallocate)) for name, preallocate in programs.JAX.items()),
    Check("cupy", programs.same("cupy_pool.py", "cupy")),
    Check("transformers", programs.same("gpt2.py", "transformers")),
    Check("triton", programs.same("triton_add.py", "triton")),
    Check("data_loader", programs.same("data_loader.py")),
    Check("streams", programs.same("streams.py")),
    Check("fork", programs.same("fork_after_init.py", "fork")),
    Check("exec", programs.same("subprocess_exec.py", "exec")),
    Check("debug", programs.debug),
    Check("disabled", programs.same("streams.py", "disabled", NVSHARE_DISABLE="1")),
    Check("sanitizer_good", tools.sanitizer("good", 0, "ERROR SUMMARY: 0 errors")),
    Check("sanitizer_bad", tools.sanitizer("bad", tools.FOUND_CODE, "Invalid __global__")),
    Check("ncu", tools.ncu, alone=True),
    Check("nsys", tools.nsys, alone=True),
    Check("nvidia_smi", tools.nvidia_smi("nvidia_smi"), alone=True),
    Check("nvidia_smi_q", tools.nvidia_smi("nvidia_smi_q", "-q"), alone=True),
    Check("conformance", programs.conformance, alone=True),
    Check("tq_tiny", rates.rate("tiny", 98.5), alone=True),
    Check("tq_mm", rates.rate("mm", 99.5), alone=True),
    Check("tq_add", rates.rate("add", 99.5), alone=True),
)


@dataclasses.dataclass
class Context:
    """What every check gets."""

    runner: running.Runner
    out: pathlib.Path
    python: str
    programs: pathlib.Path
    own_programs: pathlib.Path
    conformance: pathlib.Path
    repeat: int
    seconds: float
    build_lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)


def perform(check, context):
    """Runs one check and says at once what came out. A fault of the check is a failed check."""
    try:
        verdict = check.run(context)
    except Exception:  # whatever it is, the other checks must go on
        verdict = judging.Verdict([f"the check itself failed: {traceback.format_exc(limit=-1)}"])
    word = "FAIL" if verdict.complaints else "ok"
    for text in verdict.complaints or [verdict.remark]:
        print(f"{word:4} {check.name}: {text}", flush=True)
    for line in verdict.lines:
        print(f"     {check.name}: {line}", flush=True)
    return check.name, verdict


def run_all(checks, context):
    """The verdicts by name. Those that may run side by side come first."""
    verdicts = {}
    together = [check for check in checks if not check.alone]
    with concurrent.futures.ThreadPoolExecutor(max(1, len(together))) as pool:
        verdicts.update(pool.map(lambda check: perform(check, context), together))
    for check in (check for check in checks if check.alone):
        verdicts.update([perform(check, context)])
    return verdicts


def table_of(verdicts):
    width = max(map(len, verdicts))
    lines = [f"{'check':{width}}  {'bare s':>7}  {'library s':>9}  result  remark"]
    for name, verdict in verdicts.items():
        word = "FAIL" if verdict.complaints else "ok"
        text = " ".join((verdict.complaints or [verdict.remark])[0].split())[:100]
        times = f"{verdict.bare_s:7.1f}  {verdict.library_s:9.1f}"
        lines.append(f"{name:{width}}  {times}  {word:6}  {text}".rstrip())
    return "\n".join(lines)


def chosen(patterns):
    """The checks that match one of the patterns; all if there are none."""
    names = [check.name for check in CHECKS]
    for pattern in patterns or ():
        if not fnmatch.filter(names, pattern):
            raise SystemExit(f"harmless.py: no check {pattern!r}: there are {', '.join(names)}")
    return [
        check
        for check in CHECKS
        if not patterns or any(fnmatch.fnmatch(check.name, pattern) for pattern in patterns)
    ]


def existing_file(text):
    path = pathlib.Path(text).resolve()
    if not path.exists():
        raise argparse.ArgumentTypeError(f"there is no {path}")
    return path


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--library", type=existing_file, required=True, help="libnvshare.so")
    parser.add_argument(
        "--programs", type=existing_file, required=True, help="folder of train.py and tq.py"
    )
    parser.add_argument(
        "--conformance", type=existing_file, required=True, help="nvshare-conformance"
    )
    parser.add_argument("--repeat", type=int, default=5, help="turns of each rate (5)")
    parser.add_argument("--seconds", type=float, default=4, help="of each turn (4)")
    parser.add_argument("--budget", type=float, default=530, help="seconds for all checks (530)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="checks to run; * matches")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for raw outputs")
    parser.add_argument("--python", default=sys.executable, help="the Python that has PyTorch")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    checks = chosen(options.only)
    options.out.mkdir(parents=True, exist_ok=True)
    out = options.out.resolve()
    start = time.monotonic()
    context = Context(
        runner=running.Runner(options.library, out, options.budget),
        out=out,
        python=options.python,
        programs=options.programs,
        own_programs=FOLDER / "programs",
        conformance=options.conformance,
        repeat=options.repeat,
        seconds=options.seconds,
    )
    verdicts = run_all(checks, context)
    table = table_of(verdicts)
    (out / "table.txt").write_text(table + "\n", encoding="utf-8")
    bad = sum(1 for verdict in verdicts.values() if verdict.complaints)
    print(f"\n{table}\n")
    print(f"{len(verdicts)} checks, {bad} failed, {time.monotonic() - start:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
