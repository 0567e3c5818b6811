# SPDX-License-Identifier: Apache-2.0
import unittest

import rule_dead_files
from lint_case import LintCase


class DeadFilesTest(LintCase):
    def test_dead_header(self):
        texts = {
            "src/base/used.h": "",
            "src/base/dead.h": "",
            "src/base/a.cpp": '#include "base/used.h"\n',
        }
        self.assertEqual(self.found(rule_dead_files.check_headers, texts), [("src/base/dead.h", 1)])

    def test_header_that_includes_itself_is_dead(self):
        texts = {"src/base/a.h": '#include "base/a.h"\n'}
        self.assertEqual(self.found(rule_dead_files.check_headers, texts), [("src/base/a.h", 1)])

    def test_dead_source(self):
        texts = {
            "src/sim/CMakeLists.txt": "nvs_library(sim a.cpp sub/b.cpp)\n",
            "src/sim/a.cpp": "",
            "src/sim/sub/b.cpp": "",
            "src/sim/sub/c.cpp": "",
            "src/other/a.cpp": "",
        }
        found = self.found(rule_dead_files.check_sources, texts)
        self.assertEqual(found, [("src/other/a.cpp", 1), ("src/sim/sub/c.cpp", 1)])

    def test_dead_build_file(self):
        texts = {
            "CMakeLists.txt": "add_subdirectory(src/a)\nadd_subdirectory(tests)\n",
            "src/a/CMakeLists.txt": "add_subdirectory(b)\n",
            "src/a/b/CMakeLists.txt": "",
            "tests/CMakeLists.txt": "",
            "tests/c/CMakeLists.txt": "",
        }
        found = self.found(rule_dead_files.check_builds, texts)
        self.assertEqual(found, [("tests/c/CMakeLists.txt", 1)])


if __name__ == "__main__":
    unittest.main()
