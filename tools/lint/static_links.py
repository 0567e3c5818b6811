#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that what runs on GPU machines needs nothing there but glibc.

usage: tools/lint/static_links.py FOLDER...   every program and library under these folders
"""

import os
import pathlib
import re
import subprocess
import sys

GLIBC = re.compile(r"(?:lib(?:c|m|dl|rt|pthread)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+)")
NEEDED = re.compile(r"\(NEEDED\)[^\[]*\[([^\]]+)\]")
ELF_MAGIC = b"\x7fELF"


def foreign_libraries(readelf_text):
    """The needed libraries, in the words of `readelf --dynamic`, that are not glibc's."""
    return [name for name in NEEDED.findall(readelf_text) if not GLIBC.fullmatch(name)]


def elf_files(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(len(ELF_MAGIC)) == ELF_MAGIC:
                    yield path


def main(folders):
    checked, bad = 0, 0
    for folder in map(pathlib.Path, folders):
        files = list(elf_files(folder)) if folder.is_dir() else []
        if not files:
            print(f"{folder}: nothing to check; is it built?")
            bad += 1
        for path in files:
            command = ["readelf", "--dynamic", "--wide", str(path)]
            environment = {**os.environ, "LC_ALL": "C"}
            text = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            ).stdout
            checked += 1
            if foreign := foreign_libraries(text):
                print(f"{path}: needs {', '.join(foreign)}")
                bad += 1
    print(f"static_links: {checked} files checked, {bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
