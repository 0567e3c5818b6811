#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lint of the repository: every rule over every file; exit status 1 if one is broken.

usage: tools/lint/main.py [PATH_PREFIX...]   show findings under these paths alone
"""

import pathlib
import sys

import rule_banned_calls
import rule_banned_words
import rule_dead_files
import rule_docs
import rule_layers
import rule_names
import rule_namespaces
import rule_openings
import rule_sizes
import rule_suppressions
import rule_whitespace
import tree as tree_module

RULES = (
    rule_layers,
    rule_sizes,
    rule_openings,
    rule_dead_files,
    rule_namespaces,
    rule_banned_calls,
    rule_banned_words,
    rule_suppressions,
    rule_names,
    rule_whitespace,
    rule_docs,
)
ROOT = pathlib.Path(__file__).resolve().parents[2]


def findings(tree):
    return sorted({finding for rule in RULES for finding in rule.check(tree)})


def main(prefixes):
    tree = tree_module.read(ROOT)
    found = [item for item in findings(tree) if item.path.startswith(tuple(prefixes) or "")]
    for finding in found:
        print(finding)
    print(f"lint: {len(tree.files)} files, {len(RULES)} rules, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
