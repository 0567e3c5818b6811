#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that each header compiles alone, so that nobody depends on what others included before.

The build has proved it already for a header whose own source file includes it first, as
clang-format makes sure of; unless that file is only compiled behind a precompiled header or behind
other files, which have included plenty. The others are compiled here. A header may follow one that
it includes itself, which shows it nothing that it would not see alone; so one run of the compiler
proves a chain of headers.

usage: tools/lint/headers.py COMPILE_COMMANDS COMPILER [FLAG...]
"""

import concurrent.futures
import json
import pathlib
import subprocess
import sys

import cpp_text
import rule_layers
import tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = 2
SECONDS_MAX = 120
PRECOMPILED = "cmake_pch.hxx"


def compiled_plainly(commands_text):
    """The files that CMake's compile_commands.json compiles with nothing included before them."""
    commands = json.loads(commands_text)
    plain = {entry["file"] for entry in commands if PRECOMPILED not in entry["command"]}
    return plain | {first for first in map(first_of_unit, plain) if first}


def first_of_unit(path):
    """The file that comes first where CMake compiles several as one; it has nothing before it."""
    unit = pathlib.Path(path)
    if unit.parent.name != "Unity" or not unit.exists():
        return None
    first = next(cpp_text.includes(unit.read_text(encoding="utf-8")), None)
    return first.name if first else None


def proved_by_build(root, path, plain):
    """Whether the source file of that name, or its unit test, begins with this header."""
    stem = path.removesuffix(".h")
    for source in (root / f"{stem}.cpp", root / f"{stem}_test.cpp"):
        if str(source) in plain:
            first = next(cpp_text.includes(source.read_text(encoding="utf-8")), None)
            if first and first.quoted and f"/{path}".endswith(f"/{first.name}"):
                return True
    return False


def seen_by(sources):
    """For each header, the headers of the tree that it includes, and those that they include."""
    seen = {}

    def visit(file):
        if file.path not in seen:
            seen[file.path] = set()
            for include in cpp_text.includes(file.text):
                target = rule_layers.resolve(sources, file, include.name)
                if target in files:
                    seen[file.path] |= {target} | visit(files[target])
        return seen[file.path]

    files = {file.path: file for file in sources.with_suffix(".h")}
    for file in files.values():
        visit(file)
    return seen


def chains(paths, seen):
    """The headers in lists in which each one includes the one before it."""
    left = dict.fromkeys(sorted(paths, key=lambda path: (-len(seen[path]), path)))
    while left:
        chain = []
        following = next(iter(left))
        while following:
            chain.insert(0, following)
            del left[following]
            following = next((path for path in left if path in seen[following]), None)
        yield chain


def compile_alone(command, *paths):
    """The compiler's complaints about a file that includes nothing but these headers; else ''."""
    source = "".join(f'#include "{ROOT / path}"\n' for path in paths)
    full = [*command, "-fsyntax-only", "-x", "c++", "-"]
    done = subprocess.run(
        full, input=source, text=True, capture_output=True, check=False, timeout=SECONDS_MAX
    )
    return done.stderr if done.returncode else ""


def findings(command, chain):
    """Each header of a chain that does not compile alone, with the compiler's complaints."""
    if not compile_alone(command, *chain):
        return []
    answers = [(path, compile_alone(command, path)) for path in chain]
    return [(path, answer) for path, answer in answers if answer]


def main(commands_file, *command):
    plain = compiled_plainly(pathlib.Path(commands_file).read_text(encoding="utf-8"))
    seen = seen_by(tree.read(ROOT))
    paths = [path for path in seen if not proved_by_build(ROOT, path, plain)]
    lists = list(chains(paths, seen))
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        answers = pool.map(lambda chain: findings(command, chain), lists)
        bad = [finding for found in answers for finding in found]
    for path, answer in bad:
        print(f"{path}:1: does not compile alone\n{answer}")
    print(
        f"headers: {len(seen)}, of which {len(paths)} compiled here in {len(lists)} chains; "
        f"{len(bad)} failed"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
