#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that each header compiles alone, so that nobody depends on what others included before.

The build has proved it already for a header whose own source file includes it first, as
clang-format makes sure of; unless that file is only compiled behind others, or behind a precompiled
header with more in it than this one includes. The others are compiled here. A header may follow one
that it includes itself, which shows it nothing that it would not see alone; so one run of the
compiler proves a chain of headers, and begins with what is precompiled of the libraries that they
include.

usage: tools/lint/headers.py COMPILE_COMMANDS COMPILER [FLAG...]
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import cpp_text
import rule_layers
import tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = 2
NICE = 10  # tests that wait for each other run beside this
SECONDS_MAX = 120
PRECOMPILED = "cmake_pch.hxx"
# What many headers include of the libraries: the first row of which a header includes all serves
# it. Rows that fit nobody any more cost time, nothing else; a row pays from five headers on.
LIBRARIES = (
    ("map", "nlohmann/json.hpp", "optional", "string", "vector"),
    ("algorithm", "array", "atomic", "bitset", "deque", "map", "memory", "mutex", "optional")
    + ("span", "string", "tl/expected.hpp", "vector"),
    ("algorithm", "map", "memory", "optional", "variant", "vector"),
    ("memory", "optional", "string", "tl/expected.hpp"),
    ("memory", "vector"),
    ("string", "tl/expected.hpp"),
    ("atomic",),
    ("functional",),
    ("string",),
    ("vector",),
)


def compiled_behind(commands_text):
    """The files that CMake's compile_commands.json compiles first or alone, and for each of them
    what a precompiled header has included before it."""
    behind = {}
    for entry in json.loads(commands_text):
        for file in filter(None, (entry["file"], first_of_unit(entry["file"]))):
            before = precompiled(entry["command"])
            behind[file] = min(before, behind.get(file, before), key=len)
    return behind


def precompiled(command):
    """What the precompiled header includes with which the compiler is to begin."""
    words = shlex.split(command)
    files = [pathlib.Path(word) for word in words if word.endswith(f"/{PRECOMPILED}")]
    texts = (file.read_text(encoding="utf-8") for file in files)
    return {include.name for text in texts for include in cpp_text.includes(text)}


def first_of_unit(path):
    """The file that comes first where CMake compiles several as one; it has nothing before it."""
    unit = pathlib.Path(path)
    if unit.parent.name != "Unity" or not unit.exists():
        return None
    first = next(cpp_text.includes(unit.read_text(encoding="utf-8")), None)
    return first.name if first else None


def proved_by_build(root, path, behind, names):
    """Whether the source file of that name, or its unit test, begins with this header, which
    includes these `names` of the libraries itself."""
    stem = path.removesuffix(".h")
    for source in (root / f"{stem}.cpp", root / f"{stem}_test.cpp"):
        if str(source) in behind and behind[str(source)] <= names:
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


def libraries_of(sources, seen):
    """For each header, what it and those that it includes include of the libraries."""
    own = {file.path: first_libraries(file.text) for file in sources.with_suffix(".h")}
    return {path: own[path].union(*(own[other] for other in seen[path])) for path in seen}


def row_for(names):
    """The row of LIBRARIES that serves a header which includes these."""
    return next((row for row in LIBRARIES if names.issuperset(row)), ())


def first_libraries(text):
    """What a header includes of the libraries before it says anything that they could notice."""
    code = cpp_text.strip(text).splitlines()
    said = (line for line in code if line.strip() and line != "#pragma once")
    before = itertools.takewhile(lambda line: line.startswith("#include "), said)
    return {include.name for include in cpp_text.includes("\n".join(before)) if not include.quoted}


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


def precompile(command, folder, row):
    """The flags with which the compiler begins with this row of LIBRARIES, read once for all."""
    if not row:
        return []
    file = pathlib.Path(folder, f"{LIBRARIES.index(row)}.h")
    file.write_text("".join(f"#include <{name}>\n" for name in row), encoding="utf-8")
    full = [*command, "-x", "c++-header", str(file), "-o", f"{file}.gch"]
    # Without a result the compiler takes the file itself, and complains where that is no good.
    subprocess.run(full, capture_output=True, check=False, timeout=SECONDS_MAX)
    return ["-include", str(file)]


def check(command, folder, lists):
    """The findings about chains of headers, which are given with the row that serves them."""
    rows = list(dict.fromkeys(row for row, _ in lists))
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        flags = dict(zip(rows, pool.map(lambda row: precompile(command, folder, row), rows)))
        answers = pool.map(lambda item: findings([*command, *flags[item[0]]], item[1]), lists)
        return [finding for found in answers for finding in found]


def main(commands_file, *command):
    os.nice(NICE)
    commands = pathlib.Path(commands_file)
    behind = compiled_behind(commands.read_text(encoding="utf-8"))
    sources = tree.read(ROOT)
    seen = seen_by(sources)
    names = libraries_of(sources, seen)
    paths = [path for path in seen if not proved_by_build(ROOT, path, behind, names[path])]
    rows = {path: row_for(names[path]) for path in paths}
    lists = [
        (row, chain)
        for row in (*LIBRARIES, ())
        for chain in chains([path for path in paths if rows[path] == row], seen)
    ]
    with tempfile.TemporaryDirectory(dir=commands.parent) as folder:
        bad = check(command, folder, lists)
    for path, answer in bad:
        print(f"{path}:1: does not compile alone\n{answer}")
    print(
        f"headers: {len(seen)}, of which {len(paths)} compiled here in {len(lists)} chains; "
        f"{len(bad)} failed"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
