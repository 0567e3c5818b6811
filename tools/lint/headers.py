#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that each header compiles alone, so that nobody depends on what others included before.

The build has proved it already for a header whose own source file includes it first, as
clang-format makes sure of; unless that file is only compiled behind a precompiled header, which has
included plenty. The others are compiled here.

usage: tools/lint/headers.py COMPILE_COMMANDS COMPILER [FLAG...]
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys

import cpp_text
import tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = 2
SECONDS_MAX = 120
PRECOMPILED = "cmake_pch.hxx"


def compiled_plainly(commands_text):
    """The files that CMake's compile_commands.json compiles with nothing included before them."""
    commands = json.loads(commands_text)
    return {entry["file"] for entry in commands if PRECOMPILED not in entry["command"]}


def proved_by_build(root, path, plain):
    """Whether the source file of that name, or its unit test, begins with this header."""
    stem = path.removesuffix(".h")
    for source in (root / f"{stem}.cpp", root / f"{stem}_test.cpp"):
        if str(source) in plain:
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


def main(commands_file, *command):
    plain = compiled_plainly(pathlib.Path(commands_file).read_text(encoding="utf-8"))
    headers = [path for path in tree.list_paths(ROOT) if path.endswith(".h")]
    paths = [path for path in headers if not proved_by_build(ROOT, path, plain)]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        answers = list(pool.map(lambda path: compile_alone(command, path), paths))
    bad = [(path, answer) for path, answer in zip(paths, answers) if answer]
    for path, answer in bad:
        print(f"{path}:1: does not compile alone\n{answer}")
    print(f"headers: {len(headers)}, of which {len(paths)} compiled here; {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
