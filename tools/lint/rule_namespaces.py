# SPDX-License-Identifier: Apache-2.0
"""Headers open no namespaces on those who include them."""

import re

from tree import Finding

_USING = re.compile(r"^\s*using\s+namespace\b")


def check(tree):
    for file in tree.with_suffix(".h"):
        for number, line in enumerate(file.code_lines, 1):
            if _USING.match(line):
                yield Finding(file.path, number, "using namespace in a header")
