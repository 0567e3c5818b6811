# SPDX-License-Identifier: Apache-2.0
"""Documents: a README in each folder, links that lead somewhere, decision records of one page."""

import posixpath
import re

from tree import Finding

README_LINES_MIN = 3
README_LINES_MAX = 20
RECORD_LINES_MAX = 60
RECORD = re.compile(r"docs/adr/(\d{4})-[a-z0-9-]+\.md")
RECORD_SECTIONS = ("Context", "Decision", "Consequences", "Alternatives")
RECORD_PARTS = ("Status:", "Date:") + tuple(f"## {name}" for name in RECORD_SECTIONS)
LISTED = re.compile(r"\d+\. \[")
LINK = re.compile(r"\[[^\]\n]*\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def folders_of(tree):
    """Every folder that has something in it, and its parents; not the hidden ones."""
    folders = {""}
    for file in tree.files:
        folder = file.folder
        while folder and not folder.startswith("."):
            folders.add(folder)
            folder = posixpath.dirname(folder)
    return sorted(folders)


def check_readmes(tree):
    for folder in folders_of(tree):
        path = posixpath.join(folder, "README.md")
        if path not in tree.paths:
            yield Finding(path, 1, "every folder has a README.md")
    for file in tree.files:
        if file.name != "README.md" or not file.folder:
            continue
        # An index is as long as what it lists.
        lines = sum(1 for line in file.lines if line.strip() and not LISTED.match(line))
        if not README_LINES_MIN <= lines <= README_LINES_MAX:
            text = f"{lines} lines; a folder's README has {README_LINES_MIN} to {README_LINES_MAX}"
            yield Finding(file.path, 1, text)


def check_links(tree):
    folders = set(folders_of(tree))
    for file in tree.with_suffix(".md"):
        for number, line in enumerate(file.lines, 1):
            for target in LINK.findall(line):
                if "://" in target:
                    continue
                path = posixpath.normpath(posixpath.join(file.folder, target))
                if path not in tree.paths and path not in folders:
                    yield Finding(file.path, number, f"the link to {target} leads nowhere")


def check_records(tree):
    numbers = {}
    for file in tree.files:
        match = RECORD.fullmatch(file.path)
        if not match:
            continue
        if numbers.setdefault(match.group(1), file.path) != file.path:
            yield Finding(file.path, 1, f"{numbers[match.group(1)]} has the same number")
        for part in RECORD_PARTS:
            if not any(line.startswith(part) for line in file.lines):
                yield Finding(file.path, 1, f"a decision record needs '{part}'")
        if len(file.lines) - 1 > RECORD_LINES_MAX:
            yield Finding(file.path, 1, f"a decision record has at most {RECORD_LINES_MAX} lines")


def check(tree):
    yield from check_readmes(tree)
    yield from check_links(tree)
    yield from check_records(tree)
