# SPDX-License-Identifier: Apache-2.0
import unittest

import rule_whitespace
from lint_case import LintCase

CHECK = rule_whitespace.check


class WhitespaceTest(LintCase):
    def test_clean_files(self):
        self.assert_clean(CHECK, {"a.h": "x\n\ny\n", "Makefile": "a:\n\tb\n", "empty.txt": ""})

    def test_each_kind(self):
        self.assertEqual(self.found(CHECK, {"a.h": "x\ny"}), [("a.h", 2)])
        self.assertEqual(self.found(CHECK, {"a.h": "x\n\n"}), [("a.h", 2)])
        self.assertEqual(self.found(CHECK, {"a.h": "x \ny\n"}), [("a.h", 1)])
        self.assertEqual(self.found(CHECK, {"a.h": "x\n\ty\n"}), [("a.h", 2)])
        self.assertEqual(self.found(CHECK, {"a.h": "x\r\n"}), [("a.h", 1)])


if __name__ == "__main__":
    unittest.main()
