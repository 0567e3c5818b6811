# SPDX-License-Identifier: Apache-2.0
import unittest

import rule_suppressions
from lint_case import LintCase

CHECK = rule_suppressions.check


class SuppressionsTest(LintCase):
    def test_with_reason(self):
        text = "x;  // NOLINT(bugprone-a): the driver's own name\n// clang-format off: a table\n"
        self.assert_clean(CHECK, {"a.cpp": text + "// clang-format on\n// NOLINTEND(bugprone-a)\n"})

    def test_without_reason(self):
        for text in ("x;  // NOLINT", "// NOLINTNEXTLINE(bugprone-a)", "// clang-format off"):
            with self.subTest(text=text):
                self.assertEqual(self.found(CHECK, {"a.cpp": text + "\n"}), [("a.cpp", 1)])


if __name__ == "__main__":
    unittest.main()
