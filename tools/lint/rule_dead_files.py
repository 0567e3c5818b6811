# SPDX-License-Identifier: Apache-2.0
"""A header that nobody includes, a source that nobody builds and a build file that nobody reads are
dead."""

import posixpath

import cpp_text
import rule_layers
from tree import Finding


def check_headers(tree):
    used = set()
    for file in tree.cpp_files:
        for include in cpp_text.includes(file.text):
            target = rule_layers.resolve(tree, file, include.name)
            if target != file.path:
                used.add(target)
    for file in tree.with_suffix(".h"):
        if file.path not in used:
            yield Finding(file.path, 1, "no file includes this header")


def builds_of(tree):
    """The text of each CMakeLists.txt, by folder."""
    return {file.folder: file.text for file in tree.files if file.name == "CMakeLists.txt"}


def nearest(folder, builds):
    """The folder itself if it has a CMakeLists.txt, or the next one above that has."""
    while folder and folder not in builds:
        folder = posixpath.dirname(folder)
    return folder


def check_sources(tree):
    builds = builds_of(tree)
    for file in tree.with_suffix(".cpp"):
        build = builds.get(nearest(file.folder, builds), "")
        if file.name not in build and "GLOB" not in build:
            yield Finding(file.path, 1, "the CMakeLists.txt beside or above does not build this")


def check_builds(tree):
    builds = builds_of(tree)
    for folder in filter(None, builds):
        above = nearest(posixpath.dirname(folder), builds)
        call = f"add_subdirectory({posixpath.relpath(folder, above or '.')})"
        if call not in builds.get(above, ""):
            text = f"the CMakeLists.txt above does not {call}"
            yield Finding(f"{folder}/CMakeLists.txt", 1, text)


def check(tree):
    yield from check_headers(tree)
    yield from check_sources(tree)
    yield from check_builds(tree)
