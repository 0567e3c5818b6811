# SPDX-License-Identifier: Apache-2.0
"""Whoever silences a tool says why, on the same line."""

import re

from tree import Finding

CPP = re.compile(r"\bNOLINT(?:NEXTLINE|BEGIN)?\b(?P<rest>.*)")
CPP_GOOD = re.compile(r"\([\w.,* -]+\): \S.*")
FORMAT = re.compile(r"clang-format of[f]\b(?P<rest>.*)")
FORMAT_GOOD = re.compile(r": \S.*")


def check(tree):
    for file in tree.cpp_files:
        for number, line in enumerate(file.lines, 1):
            match = CPP.search(line)
            if match and not CPP_GOOD.match(match.group("rest")):
                yield Finding(file.path, number, "write NOLINT(check): reason")
            match = FORMAT.search(line)
            if match and not FORMAT_GOOD.match(match.group("rest")):
                yield Finding(file.path, number, "write clang-format off: reason")
