# SPDX-License-Identifier: Apache-2.0
"""What the tests of the rules share: run one check over a tree given as path to text."""

import unittest

from tree import Tree


class LintCase(unittest.TestCase):
    def found(self, check, texts):
        """The findings as (path, line), in order."""
        return sorted((item.path, item.line) for item in check(Tree(texts)))

    def assert_clean(self, check, texts):
        self.assertEqual([str(item) for item in check(Tree(texts))], [])
