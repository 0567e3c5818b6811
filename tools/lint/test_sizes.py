# SPDX-License-Identifier: Apache-2.0
import unittest

import rule_sizes
from lint_case import LintCase


class SizesTest(LintCase):
    def test_file_of_400_lines_and_of_401(self):
        texts = {"src/a.cpp": "\n" * 400, "src/b.cpp": "\n" * 401, "docs/c.md": "\n" * 401}
        found = self.found(rule_sizes.check_file_lines, texts)
        self.assertEqual(found, [("docs/c.md", 401), ("src/b.cpp", 401)])

    def test_data_may_be_long(self):
        texts = {"spec/a.def": "\n" * 999, "k.ptx": "\n" * 999, "t/h200_transcript.txt": "\n" * 999}
        self.assert_clean(rule_sizes.check_file_lines, texts)

    def test_cpp_function_of_60_lines_and_of_61(self):
        texts = {"a.cpp": "void f() {" + "\n" * 59 + "}\nvoid g() {" + "\n" * 60 + "}\n"}
        self.assertEqual(self.found(rule_sizes.check_function_lines, texts), [("a.cpp", 61)])

    def test_python_function(self):
        texts = {"a.py": "def f():\n" + "    x = 1\n" * 60}
        self.assertEqual(self.found(rule_sizes.check_function_lines, texts), [("a.py", 1)])

    def test_columns(self):
        texts = {"a.h": "x" * 100 + "\n" + "y" * 101 + "\n", "a.md": "z" * 200}
        self.assertEqual(self.found(rule_sizes.check_columns, texts), [("a.h", 2)])


if __name__ == "__main__":
    unittest.main()
