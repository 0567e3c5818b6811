# SPDX-License-Identifier: Apache-2.0
import unittest

import rule_docs
from lint_case import LintCase

README = "# Title\n\nOne.\nTwo.\n"
RECORD = "# 1\nStatus: accepted\nDate: 2025-01-01\n" + "".join(
    f"## {name}\nText.\n" for name in rule_docs.RECORD_SECTIONS
)


class ReadmeTest(LintCase):
    def test_each_folder_and_its_parents_need_one(self):
        texts = {"README.md": "", "src/base/a.h": "", ".ci/run": ""}
        found = self.found(rule_docs.check_readmes, texts)
        self.assertEqual(found, [("src/README.md", 1), ("src/base/README.md", 1)])

    def test_length(self):
        good = {"README.md": README * 40, "a/README.md": README}
        self.assert_clean(rule_docs.check_readmes, good)
        short = good | {"a/README.md": "# Title\n"}
        self.assertEqual(self.found(rule_docs.check_readmes, short), [("a/README.md", 1)])
        long = good | {"a/README.md": README * 10}
        self.assertEqual(self.found(rule_docs.check_readmes, long), [("a/README.md", 1)])
        index = good | {"a/README.md": README + "1. [Thing](thing.md)\n" * 40}
        self.assertEqual(self.found(rule_docs.check_readmes, index), [])


class LinkTest(LintCase):
    def test_links(self):
        texts = {
            "README.md": "[a](docs/a.md) [b](docs/) [c](https://x.org/c) [d](docs/a.md#part)\n",
            "docs/a.md": "[up](../README.md) [gone](b.md)\n",
        }
        self.assertEqual(self.found(rule_docs.check_links, texts), [("docs/a.md", 1)])


class RecordTest(LintCase):
    def test_good_record(self):
        self.assert_clean(rule_docs.check_records, {"docs/adr/0001-a.md": RECORD})

    def test_missing_part(self):
        for part in rule_docs.RECORD_PARTS:
            with self.subTest(part=part):
                texts = {"docs/adr/0001-a.md": RECORD.replace(part, "")}
                found = self.found(rule_docs.check_records, texts)
                self.assertEqual(found, [("docs/adr/0001-a.md", 1)])

    def test_number_used_twice_and_length(self):
        texts = {"docs/adr/0001-a.md": RECORD, "docs/adr/0001-b.md": RECORD}
        self.assertEqual(self.found(rule_docs.check_records, texts), [("docs/adr/0001-b.md", 1)])
        texts = {"docs/adr/0001-a.md": RECORD + "\n" * 60}
        self.assertEqual(self.found(rule_docs.check_records, texts), [("docs/adr/0001-a.md", 1)])


if __name__ == "__main__":
    unittest.main()
