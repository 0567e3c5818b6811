# SPDX-License-Identifier: Apache-2.0
import unittest

import rule_layers
from lint_case import LintCase

CHECK = rule_layers.check
SIM_API = {"src/cuda_sim/test_api.h": ""}


class LayersTest(LintCase):
    def test_allowed_directions(self):
        self.assert_clean(
            CHECK,
            {
                "src/base/a.h": "#include <vector>\n",
                "src/core/b.h": '#include "base/a.h"\n',
                "src/core/c.h": '#include "core/b.h"\n#include "b.h"\n',
                "src/cuda_sim/d.h": '#include "cuda_api/e.h"\n#include "spec/f.def"\n',
                "src/cuda_api/e.h": '#include "base/a.h"\n',
                "spec/f.def": "",
                "tests/g.cpp": '#include "core/b.h"\n',
            },
        )

    def test_upward_include(self):
        texts = {"src/base/a.h": '\n#include "core/b.h"\n', "src/core/b.h": ""}
        self.assertEqual(self.found(CHECK, texts), [("src/base/a.h", 2)])

    def test_sideways_include(self):
        texts = {"src/wire/a.h": '#include "core/b.h"\n', "src/core/b.h": ""}
        self.assertEqual(self.found(CHECK, texts), [("src/wire/a.h", 1)])

    def test_source_path_spelled_from_the_root(self):
        texts = {"src/base/a.h": '#include "src/core/b.h"\n', "src/core/b.h": ""}
        self.assertEqual(self.found(CHECK, texts), [("src/base/a.h", 1)])

    def test_simulator_api_is_open_to_its_users(self):
        text = '#include "cuda_sim/test_api.h"\n'
        self.assert_clean(CHECK, SIM_API | {"bench/a.cpp": text, "src/cuda_api/driver.h": text})
        texts = SIM_API | {"src/interposer/a.cpp": text}
        self.assertEqual(self.found(CHECK, texts), [("src/interposer/a.cpp", 1)])

    def test_simulator_insides_are_closed_even_to_tests(self):
        texts = {"tests/a.cpp": '#include "cuda_sim/b.h"\n', "src/cuda_sim/b.h": ""}
        self.assertEqual(self.found(CHECK, texts), [("tests/a.cpp", 1)])

    def test_angle_brackets_do_not_hide_an_include(self):
        texts = {"src/base/a.h": "#include <core/b.h>\n", "src/core/b.h": ""}
        self.assertEqual(self.found(CHECK, texts), [("src/base/a.h", 1)])

    def test_include_of_nothing_and_climbing_include(self):
        texts = {"src/base/a.h": '#include "gone.h"\n#include "../core/b.h"\n', "src/core/b.h": ""}
        self.assertEqual(self.found(CHECK, texts), [("src/base/a.h", 1), ("src/base/a.h", 2)])

    def test_unknown_layer(self):
        self.assertEqual(self.found(CHECK, {"src/new/a.h": ""}), [("src/new/a.h", 1)])


if __name__ == "__main__":
    unittest.main()
