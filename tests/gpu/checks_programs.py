# SPDX-License-Identifier: Apache-2.0
"""Checks of results: programs compute the same with the library as without it."""

import re

import judging
from running import Kind

MODES = {"eager": 300, "graph": 300, "compile": 300}  # steps, about 10 s each
TRAIN_TIMEOUT_S = 180
PROGRAM_TIMEOUT_S = 120
CONFORMANCE_TIMEOUT_S = 150
DEBUG_LINES = 2  # on stderr: one at the start, one at the end
DEBUG_TABLE = (r"^.*\bowner\b.*\bbytes_peak\b", r"^.*\bprimary\b.*\ball\b", r"process peak [1-9]")
JAX = {"jax_preallocate": "true", "jax_on_demand": "false"}


def train(mode):
    """train.py: bit-identical loss and weights."""

    def check(context):
        command = [context.python, context.programs / "train.py", mode, MODES[mode]]
        bare, library = context.runner.pair(f"train_{mode}", command, TRAIN_TIMEOUT_S)
        complaints, remark = judging.same_training(bare, library)
        return judging.verdict_of(bare, library, complaints, remark)

    return check


def same(file, name=None, **extra):
    """A program of the folder beside: same output, exit code 0, nothing more on stderr. Frameworks
    warn when they find themselves slow; so a run that only warned more is made again, once."""

    def check(context):
        command = [context.python, context.own_programs / file]
        label = name or file.removesuffix(".py")
        bare, library = context.runner.pair(label, command, PROGRAM_TIMEOUT_S, extra)
        remark = bare.stdout.strip().splitlines()[-1:] or [""]
        complaints = judging.same_program(bare, library)
        lines = []
        if judging.only_more_on_stderr(complaints):
            lines = [f"ran again, because there were {complaints[0]}"]
            known = bare.stderr
            label += "_again"
            bare, library = context.runner.pair(label, command, PROGRAM_TIMEOUT_S, extra)
            complaints = judging.same_program(bare, library, known)
        return judging.verdict_of(bare, library, complaints, remark[0][:60], lines)

    return check


def jax(name, preallocate):
    return same("jax_grad.py", name, XLA_PYTHON_CLIENT_PREALLOCATE=preallocate)


def preloaded(context):
    """Without this, all else would compare bare with bare."""
    command = [context.python, context.own_programs / "where.py"]
    bare, library = context.runner.pair("preloaded", command, PROGRAM_TIMEOUT_S)
    complaints = bare.trouble() + library.trouble()
    for outcome, wanted in ((bare, "False"), (library, "True")):
        if outcome.stdout.strip() != wanted:
            complaints.append(f"{outcome.kind.value}: is the library there? {outcome.stdout!r}")
    return judging.verdict_of(bare, library, complaints)


def complaints_about_debug(bare, library, log):
    """What NVSHARE_DEBUG may add: two lines on stderr, and a log that ends with the table."""
    complaints = bare.trouble() + library.trouble()
    if difference := judging.first_difference(bare.stdout, library.stdout):
        complaints.append(f"stdout differs: {difference}")
    added = len(library.stderr.splitlines()) - len(bare.stderr.splitlines())
    ours = [line for line in library.stderr.splitlines() if line.startswith("nvshare: ")]
    if added != DEBUG_LINES or len(ours) != DEBUG_LINES:
        complaints.append(f"{added} lines more on stderr, {len(ours)} of ours, not {DEBUG_LINES}")
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    for pattern in DEBUG_TABLE:
        if not re.search(pattern, text, re.MULTILINE):
            complaints.append(f"nothing like {pattern!r} in {log.name} of {len(text)} characters")
    return complaints


def debug(context):
    log = (context.out / "debug.log").absolute()
    log.unlink(missing_ok=True)
    command = [context.python, context.own_programs / "streams.py"]
    settings = {"NVSHARE_DEBUG": "1", "NVSHARE_DEBUG_FILE": str(log)}
    bare, library = context.runner.pair("debug", command, PROGRAM_TIMEOUT_S, settings)
    complaints = complaints_about_debug(bare, library, log)
    return judging.verdict_of(bare, library, complaints, f"log in {log.name}")


def conformance(context):
    """The transcripts are the same byte by byte. One after the other: some lines say how the free
    memory of the card changed."""
    bare, library = context.runner.pair_in_turn(
        "conformance", [context.conformance], CONFORMANCE_TIMEOUT_S
    )
    complaints = judging.same_program(bare, library)
    data = [(context.out / f"conformance.{kind.value}.out").read_bytes() for kind in Kind]
    if not complaints and data[0] != data[1]:
        complaints.append("the transcripts differ in bytes that are no text")
    remark = f"{len(bare.stdout.splitlines())} lines"
    return judging.verdict_of(bare, library, complaints, remark)
