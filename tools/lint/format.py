#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formats every C++ file with clang-format 14, or with --check says which ones are not formatted.

Other versions format differently and are not used. Exit status 77: there is no clang-format 14.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

import tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = "14"
SKIPPED = 77


def find_clang_format():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if re.search(rf"version {VERSION}\.", shown.stdout):
            return path
    return None


def run(clang_format, root, paths, check):
    """Formats the files, or checks them; whether they were (or now are) as they should be."""
    if not paths:
        return True
    mode = ["--dry-run", "--Werror"] if check else ["-i"]
    command = [clang_format, "--style=file", "--fallback-style=none", *mode, *paths]
    return subprocess.run(command, cwd=root, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing, report")
    arguments = parser.parse_args()
    clang_format = find_clang_format()
    if clang_format is None:
        print(f"skipped: clang-format {VERSION} is not installed")
        return SKIPPED
    paths = [path for path in tree.list_paths(ROOT) if path.endswith(tree.CPP_SUFFIXES)]
    good = run(clang_format, ROOT, paths, arguments.check)
    print(f"format: {len(paths)} files" + ("" if good else "; run make format"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
