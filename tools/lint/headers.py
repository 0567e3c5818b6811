#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that each header compiles alone, so that nobody depends on what others included before.

The build has proved it already for a header whose own source file includes it first, as
clang-format makes sure of; the others are compiled here.

usage: tools/lint/headers.py COMPILER [FLAG...]
"""

import concurrent.futures
import pathlib
import subprocess
import sys

import cpp_text
import tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = 2
SECONDS_MAX = 120


def proved_by_build(root, path):
    """Whether the source file of that name, or its unit test, begins with this header."""
    stem = path.removesuffix(".h")
    for source in (root / f"{stem}.cpp", root / f"{stem}_test.cpp"):
        if source.is_file():
            first = next(cpp_text.includes(source.read_text(encoding="utf-8")), None)
            if first and first.quoted and f"/{path}".endswith(f"/{first.name}"):
                return True
    return False


def compile_alone(command, path):
    """The compiler's complaints about a file that includes nothing but this header; else ''."""
    source = f'#include "{ROOT / path}"\n'
    full = [*command, "-fsyntax-only", "-x", "c++", "-"]
    done = subprocess.run(
        full, input=source, text=True, capture_output=True, check=False, timeout=SECONDS_MAX
    )
    return done.stderr if done.returncode else ""


def main(command):
    headers = [path for path in tree.list_paths(ROOT) if path.endswith(".h")]
    paths = [path for path in headers if not proved_by_build(ROOT, path)]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        answers = list(pool.map(lambda path: compile_alone(command, path), paths))
    bad = [(path, answer) for path, answer in zip(paths, answers) if answer]
    for path, answer in bad:
        print(f"{path}:1: does not compile alone\n{answer}")
    print(f"headers: {len(headers)}, of which {len(paths)} compiled here; {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
