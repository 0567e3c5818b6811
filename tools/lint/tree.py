# SPDX-License-Identifier: Apache-2.0
"""The files that the rules look at, and the findings that they return."""

import functools
import os
import pathlib
import subprocess
from typing import NamedTuple

import cpp_text

CPP_SUFFIXES = (".h", ".cpp", ".cu")
SKIPPED_FOLDERS = {".git", "build", "__pycache__"}


class Finding(NamedTuple):
    """One broken rule, in the form in which compilers report errors."""

    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class SourceFile:
    """One text file: its path from the root of the repository, with slashes, and its content."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.folder, _, self.name = path.rpartition("/")
        self.suffix = os.path.splitext(self.name)[1]
        self.lines = text.split("\n")

    @property
    def is_cpp(self):
        return self.suffix in CPP_SUFFIXES

    @functools.cached_property
    def code(self):
        """C++ text without comments and without what is inside quotes; the lines stay in place."""
        return cpp_text.strip(self.text)

    @functools.cached_property
    def code_lines(self):
        return self.code.split("\n")


class Tree:
    """All text files of the repository; tests build one from a dictionary of path to text."""

    def __init__(self, texts):
        self.files = [SourceFile(path, texts[path]) for path in sorted(texts)]
        self.paths = {file.path for file in self.files}

    @property
    def cpp_files(self):
        return [file for file in self.files if file.is_cpp]

    def with_suffix(self, *suffixes):
        return [file for file in self.files if file.suffix in suffixes]


def list_paths(root):
    """The files that git knows or would add; all files where git has no say (an unpacked archive,
    or a clone that belongs to somebody else)."""
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others"]
        try:
            done = subprocess.run(command + ["--exclude-standard"], capture_output=True, check=True)
            names = done.stdout.decode().split("\0")
            return sorted({name for name in names if name and (root / name).is_file()})
        except (OSError, subprocess.CalledProcessError):
            pass
    return sorted(walk_paths(root))


def walk_paths(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        for name in names:
            path = pathlib.Path(folder, name)
            if path.is_file():
                yield path.relative_to(root).as_posix()


def read(root):
    """The tree on disk. Files that are no text (pictures) are not for these rules."""
    texts = {}
    for path in list_paths(root):
        try:
            texts[path] = (root / path).read_bytes().decode()
        except UnicodeDecodeError:
            continue
    return Tree(texts)
