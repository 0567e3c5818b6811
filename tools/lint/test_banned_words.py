# SPDX-License-Identifier: Apache-2.0
"""The words are glued together here so that this file passes the rule that it tests."""

import unittest

import rule_banned_words
from lint_case import LintCase

CHECK = rule_banned_words.check
BAD = (
    "// TO" + "DO: later",
    "// FIX" + "ME",
    "# XX" + "X",
    "see /wo" + "rk/main",
    "'/wo" + "rk'",
    "/ho" + "me/someone/x",
    "cp /ro" + "ot/x .",
    "as an A" + "I",
    "in this sess" + "ion we",
    "ask the le" + "ad",
    "http://deb." + "debian.org/x",
)
GOOD = (
    "mkstemp(XXXXXX)",
    "src/workloads and /workloads",
    "the session of a client",
    "RAII, MAIN",
    "a leading zero",
    "$HOME/x and ~/work/x",
)


class BannedWordsTest(LintCase):
    def test_each_word_is_found(self):
        for text in BAD:
            with self.subTest(text=text):
                self.assertEqual(self.found(CHECK, {"a.md": f"fine\n{text}\n"}), [("a.md", 2)])

    def test_words_that_look_alike(self):
        for text in GOOD:
            with self.subTest(text=text):
                self.assert_clean(CHECK, {"a.md": text + "\n"})


if __name__ == "__main__":
    unittest.main()
