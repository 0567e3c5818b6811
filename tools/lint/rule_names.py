# SPDX-License-Identifier: Apache-2.0
"""Files and folders are named in snake_case, but for those whose names others have fixed."""

import re

from tree import Finding

SNAKE = re.compile(r"\.?[a-z0-9]+(?:_[a-z0-9]+)*(?:\.[a-z0-9_]+)*")
FIXED = {
    "ARCHITECTURE.md",
    "CMakeLists.txt",
    "CMakePresets.json",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "__init__.py",
    ".clang-format",
    ".clang-tidy",
}
# CMake modules and decision records follow the custom of their kind; deployment files that of
# Kubernetes, where names are words with dashes.
CUSTOMS = (
    re.compile(r"cmake/[A-Z]\w+\.cmake"),
    re.compile(r"docs/adr/\d{4}-[a-z0-9-]+\.md"),
    re.compile(r"deploy/.*"),
    re.compile(r"src/[a-z0-9_/]+\.S"),  # the compilers' name for assembly with a preprocessor
)


def check(tree):
    for file in tree.files:
        if any(custom.fullmatch(file.path) for custom in CUSTOMS):
            continue
        *folders, name = file.path.split("/")
        if name not in FIXED and not SNAKE.fullmatch(name):
            yield Finding(file.path, 1, f"file name {name} is not snake_case")
        for folder in folders:
            if not SNAKE.fullmatch(folder):
                yield Finding(file.path, 1, f"folder name {folder} is not snake_case")
