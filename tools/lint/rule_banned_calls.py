# SPDX-License-Identifier: Apache-2.0
"""Calls that a layer may not make, because they would break what the layer promises."""

import re
from typing import NamedTuple

from tree import Finding


class Ban(NamedTuple):
    """Names that must not be used in files whose path begins with one of `paths`.

    `name(` is a call of a free function, `::name(` one that says that it means the system's, and
    a name without a parenthesis is any use.
    """

    paths: tuple
    names: tuple
    reason: str


PURE = ("src/core/", "src/wire/")
LIBRARIES = ("src/base/",) + PURE
# Libraries that live in other people's programs.
GUESTS = ("src/interposer/", "src/cuda_sim/", "src/cuda_api/")
EVERYWHERE = ("",)
ENDINGS = ("exit(", "_exit(", "quick_exit(")
OUTPUT = ("printf(", "fprintf(", "puts(", "putchar(", "std::cout", "std::cerr")
THREADS = ("std::thread", "std::jthread", "std::mutex", "std::atomic", "std::condition_variable")
CLOCKS = ("steady_clock", "clock_gettime(", "time(", "nanosleep(")
SYSTEM = ("rand(", "std::random_device", "::open(", "::read(", "::write(", "::socket(")

BANS = (
    Ban(LIBRARIES, ENDINGS, "a library never ends the program"),
    Ban(LIBRARIES, ("getenv(", "secure_getenv("), "programs read the environment and pass it on"),
    Ban(LIBRARIES, OUTPUT, "a library returns errors, programs print"),
    Ban(LIBRARIES, ("system_clock", "gettimeofday("), "wall-clock time jumps"),
    Ban(PURE, CLOCKS, "time is an argument of this layer"),
    Ban(PURE, THREADS + SYSTEM, "this layer is pure"),
    Ban(GUESTS, ENDINGS, "we never end the user's program"),
    Ban(GUESTS, ("printf(", "puts(", "std::cout"), "standard output belongs to the program"),
    Ban(
        ("src/interposer/resolve",),
        ("strcmp(", "strncmp(", "strlen(", "memcmp(", "malloc(", "free("),
        "sanitizers intercept it, and are not ready when dlsym is first called",
    ),
    Ban(EVERYWHERE, ("strcpy(", "strcat(", "sprintf(", "vsprintf(", "gets("), "it has no bound"),
    Ban(EVERYWHERE, ("system(", "tmpnam(", "alloca("), "there is a safer way"),
)


def pattern_of(name):
    if name.startswith("::"):
        return rf"(?<!\w){re.escape(name[:-1])}\s*\("
    if name.endswith("("):
        # Neither a member nor a function of a namespace of ours.
        return rf"(?<![\w.>:])(?:std::|::)?{re.escape(name[:-1])}\s*\("
    return rf"(?<!\w){re.escape(name)}\b"


def is_test(file):
    """Unit tests and what helps them stand beside the code. The simulator's test API is code."""
    if file.name.startswith("test_api."):
        return False
    return file.name.endswith("_test.cpp") or file.name.startswith("test_")


def check(tree):
    for ban in BANS:
        pattern = re.compile("|".join(map(pattern_of, ban.names)))
        for file in tree.cpp_files:
            if not file.path.startswith(ban.paths) or (is_test(file) and ban.paths != EVERYWHERE):
                continue
            for number, line in enumerate(file.code_lines, 1):
                for match in pattern.finditer(line):
                    yield Finding(file.path, number, f"{match.group().rstrip('(')}: {ban.reason}")
