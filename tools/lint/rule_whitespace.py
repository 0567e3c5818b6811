# SPDX-License-Identifier: Apache-2.0
"""White space that shows in diffs and nowhere else."""

from tree import Finding

# Compiler output and other people's texts keep the white space that they came with.
EXEMPT_SUFFIXES = {".ptx"}


def check_file(file):
    if file.text and not file.text.endswith("\n"):
        yield Finding(file.path, len(file.lines), "no newline at the end of the file")
    if file.text.endswith("\n\n"):
        yield Finding(file.path, len(file.lines) - 1, "empty lines at the end of the file")
    for number, line in enumerate(file.lines, 1):
        if line != line.rstrip():
            yield Finding(file.path, number, "white space at the end of the line")
        if "\t" in line and file.name != "Makefile":
            yield Finding(file.path, number, "a tab")


def check(tree):
    for file in tree.files:
        if file.suffix not in EXEMPT_SUFFIXES and file.name != "LICENSE":
            yield from check_file(file)
