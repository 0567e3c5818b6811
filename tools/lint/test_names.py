# SPDX-License-Identifier: Apache-2.0
import unittest

import rule_names
from lint_case import LintCase

GOOD = (
    "src/base/unique_fd.h",
    "Makefile",
    "cmake/NvsTargets.cmake",
    "docs/adr/0001-record-decisions.md",
    "tests/README.md",
    ".ci/run",
    ".clang-tidy",
    "spec/a.def",
    "src/cuda_sim/exports.map.in",
)
BAD = ("src/base/UniqueFd.h", "src/base/unique-fd.h", "src/Base/a.h", "docs/adr/first.MD", "a__b.h")


class NamesTest(LintCase):
    def test_good_names(self):
        self.assert_clean(rule_names.check, {path: "" for path in GOOD})

    def test_bad_names(self):
        for path in BAD:
            with self.subTest(path=path):
                self.assertEqual(self.found(rule_names.check, {path: ""}), [(path, 1)])


if __name__ == "__main__":
    unittest.main()
