# SPDX-License-Identifier: Apache-2.0
import unittest

import rule_banned_calls
from lint_case import LintCase

CHECK = rule_banned_calls.check


class BannedCallsTest(LintCase):
    def test_every_ban_can_fail(self):
        for ban in rule_banned_calls.BANS:
            for path in ban.paths:
                for name in ban.names:
                    text = f"auto x = {name}0);\n" if name.endswith("(") else f"{name} x;\n"
                    with self.subTest(path=path, name=name):
                        self.assertTrue(self.found(CHECK, {f"{path or 'src/x/'}a.cpp": text}))

    def test_qualified_calls(self):
        text = "std::exit(1);\n::exit(1);\nstd::chrono::system_clock::now();\n"
        found = self.found(CHECK, {"src/base/a.cpp": text})
        self.assertEqual([line for _, line in found], [1, 2, 3])

    def test_members_longer_names_and_text_are_free(self):
        text = 'x.exit(1); p->exit(2); n::exit(3); on_exit(4); log("exit(5)");  // exit(6)\n'
        self.assert_clean(CHECK, {"src/base/a.cpp": text})

    def test_other_layers_and_tests_beside_the_code_are_free(self):
        self.assert_clean(CHECK, {"src/cli/a.cpp": "exit(1);\n"})
        self.assert_clean(CHECK, {"src/base/a_test.cpp": 'getenv("X");\n'})
        self.assert_clean(CHECK, {"src/cuda_sim/test_child.h": "_exit(1);\n"})
        self.assertTrue(self.found(CHECK, {"src/cuda_sim/test_api.cpp": "_exit(1);\n"}))


if __name__ == "__main__":
    unittest.main()
