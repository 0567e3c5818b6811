# SPDX-License-Identifier: Apache-2.0
import unittest

import rule_namespaces
from lint_case import LintCase


class NamespacesTest(LintCase):
    def test_using_in_a_header(self):
        texts = {"a.h": "// using namespace x;\n  using namespace y;\n"}
        self.assertEqual(self.found(rule_namespaces.check, texts), [("a.h", 2)])

    def test_using_in_a_source(self):
        self.assert_clean(rule_namespaces.check, {"a.cpp": "using namespace y;\n"})


if __name__ == "__main__":
    unittest.main()
