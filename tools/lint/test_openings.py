# SPDX-License-Identifier: Apache-2.0
import unittest

import rule_openings
from lint_case import LintCase

CHECK = rule_openings.check
CPP = f"// {rule_openings.LICENSE_LINE}\n"
SHELL = f"# {rule_openings.LICENSE_LINE}\n"


class OpeningsTest(LintCase):
    def test_good_openings(self):
        self.assert_clean(
            CHECK,
            {
                "a.h": CPP + "// Solves a problem.\n#pragma once\n",
                "b.h": CPP + "#pragma once\n\n// Solves another,\n// in two lines.\n\nint x;\n",
                "c.cpp": CPP,
                "d.py": "#!/usr/bin/env python3\n" + SHELL,
                "e.md": "# Title\n",
            },
        )

    def test_license_is_missing(self):
        texts = {"a.cpp": "int x;\n", "b.py": "#!/usr/bin/env python3\nx = 1\n", "c.def": ""}
        self.assertEqual(self.found(CHECK, texts), [("a.cpp", 1), ("b.py", 2), ("c.def", 1)])

    def test_pragma_is_missing(self):
        self.assertEqual(self.found(CHECK, {"a.h": CPP + "// Why.\nint x;\n"}), [("a.h", 1)])

    def test_header_says_nothing(self):
        texts = {"a.h": CPP + "#pragma once\nint x;  // late\n"}
        self.assertEqual(self.found(CHECK, texts), [("a.h", 2)])

    def test_header_says_too_much(self):
        lines = rule_openings.COMMENT_LINES_MAX + 1
        texts = {"a.h": CPP + "// word\n" * lines + "#pragma once\n"}
        self.assertEqual(self.found(CHECK, texts), [("a.h", 2)])


if __name__ == "__main__":
    unittest.main()
