# SPDX-License-Identifier: Apache-2.0
"""How files begin: the licence line, and for headers what they are for and `#pragma once`."""

from tree import Finding

LICENSE_LINE = "SPDX-License-Identifier: Apache-2.0"
LICENSED_SUFFIXES = {".h", ".cpp", ".cu", ".def", ".py", ".sh", ".cmake"}
LICENSED_NAMES = {"CMakeLists.txt", "Makefile", "run"}
COMMENT_LINES_MAX = 8


def check_license(file):
    if file.suffix not in LICENSED_SUFFIXES and file.name not in LICENSED_NAMES:
        return
    line = 1 if file.lines[0].startswith("#!") else 0
    expected = (f"// {LICENSE_LINE}", f"# {LICENSE_LINE}")
    if line >= len(file.lines) or file.lines[line] not in expected:
        yield Finding(file.path, line + 1, f"the first line must be the comment: {LICENSE_LINE}")


def opening_comment(file):
    """The lines of comment between the licence and the first line of code."""
    comment = []
    for line in file.lines[1:]:
        if line.startswith("//"):
            comment.append(line)
        elif line and line != "#pragma once":
            break
        elif comment:
            break
    return comment


def check_header(file):
    if "#pragma once" not in file.lines:
        yield Finding(file.path, 1, "a header needs #pragma once")
    lines = len(opening_comment(file))
    if not 1 <= lines <= COMMENT_LINES_MAX:
        text = f"a header opens with 1 to {COMMENT_LINES_MAX} lines on which problem it solves"
        yield Finding(file.path, 2, f"{text}, not {lines}")


def check(tree):
    for file in tree.files:
        yield from check_license(file)
        if file.suffix == ".h":
            yield from check_header(file)
