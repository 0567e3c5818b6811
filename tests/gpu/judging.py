# SPDX-License-Identifier: Apache-2.0
"""Whether two runs of a program are the same, but for what differs from run to run anyway."""

import dataclasses
import difflib
import re
import statistics

SHOWN = 160
MORE_ON_STDERR = "lines more on stderr"
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
RUN_NAME = re.compile(r"\.(?:bare|library)\b")
DATE = re.compile(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} +\d+ [\d:]+ \d{4}\b")
RATE = re.compile(r"([\d.]+) it/s")
TRAINED = re.compile(r"loss (\S+) weights (\S+)")


@dataclasses.dataclass
class Verdict:
    """What a check found out: `complaints` is empty where all holds."""

    complaints: list
    remark: str = ""
    bare_s: float = 0
    library_s: float = 0
    lines: list = dataclasses.field(default_factory=list)  # to be shown besides


def verdict_of(bare, library, complaints, remark="", lines=()):
    return Verdict(complaints, remark, bare.seconds, library.seconds, list(lines))


def without_volatile(line):
    """A line without addresses, numbers, dates and the width that they take."""
    for pattern in (DATE, RUN_NAME, ADDRESS, NUMBER):
        line = pattern.sub("#", line)
    # nvidia-smi says which of the reasons for a low clock is active just now.
    line = line.replace("Not Active", "Active")
    return re.sub(r"[-+=|\s]+", " ", line).strip()


def extra_lines(bare_text, library_text):
    """Lines of the second text that are not in the first, volatile parts aside."""
    known = {without_volatile(line) for line in bare_text.splitlines()}
    return [line for line in library_text.splitlines() if without_volatile(line) not in known]


def first_difference(bare_text, library_text):
    """The first place where two texts differ, in words; an empty string if they are equal."""
    if bare_text == library_text:
        return ""
    lines = difflib.unified_diff(
        bare_text.splitlines(), library_text.splitlines(), "bare", "library", lineterm="", n=0
    )
    changes = [line[:SHOWN] for line in lines if line[:3] not in ("---", "+++", "@@ ")]
    return "; ".join(changes[:4]) or "they differ in line ends"


def same_program(bare, library, known_stderr=""):
    """Same stdout, exit code 0, and nothing on stderr that a bare run does not show; what earlier
    bare runs showed there is `known_stderr`."""
    complaints = bare.trouble() + library.trouble()
    if complaints:
        return complaints
    if difference := first_difference(bare.stdout, library.stdout):
        complaints.append(f"stdout differs: {difference}")
    if not bare.stdout.strip():
        complaints.append("it printed nothing, so nothing was compared")
    if extra := extra_lines(known_stderr + bare.stderr, library.stderr):
        complaints.append(f"{len(extra)} {MORE_ON_STDERR}: {extra[0][:SHOWN]}")
    return complaints


def only_more_on_stderr(complaints):
    return bool(complaints) and all(MORE_ON_STDERR in text for text in complaints)


def same_training(bare, library):
    """train.py: loss and weights must be the same to the last digit that it prints."""
    complaints = bare.trouble() + library.trouble()
    found = [TRAINED.search(outcome.stdout) for outcome in (bare, library)]
    if complaints or None in found:
        return complaints or ["no loss and weights in what it printed"], ""
    if found[0].groups() != found[1].groups():
        complaints.append(f"bare {found[0].group()}, library {found[1].group()}")
    if extra := extra_lines(bare.stderr, library.stderr):
        complaints.append(f"{len(extra)} {MORE_ON_STDERR}: {extra[0][:SHOWN]}")
    return complaints, found[0].group()


def same_but_volatile(bare, library):
    """Same exit code and the same text, numbers and dates aside."""
    complaints = library.trouble(bare.code)
    texts = [
        "\n".join(map(without_volatile, outcome.stdout.splitlines())) for outcome in (bare, library)
    ]
    if difference := first_difference(*texts):
        complaints.append(f"stdout differs: {difference}")
    if extra := extra_lines(bare.stderr, library.stderr):
        complaints.append(f"more on stderr: {extra[0][:SHOWN]}")
    return complaints


def rate_of(outcome):
    """The rate that tq.py printed, or None."""
    found = RATE.search(outcome.stdout)
    return float(found.group(1)) if outcome.code == 0 and found else None


def compare_rates(bare, library, percent_min):
    """Complaints about rates with the library against bare ones, and the figures in words."""
    percent = 100 * statistics.median(library) / statistics.median(bare)
    remark = (
        f"{percent:.2f} % of bare (at least {percent_min} %), "
        f"medians {statistics.median(library):.1f} and {statistics.median(bare):.1f} it/s"
    )
    return ([remark] if percent < percent_min else []), remark
