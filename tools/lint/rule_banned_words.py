# SPDX-License-Identifier: Apache-2.0
"""Words that do not belong into a repository: unfinished business, and traces of one machine.

The patterns are written with [x] so that this file does not contain what it looks for.
"""

import re

from tree import Finding

# Each pattern, and what to do about it.
BANNED = (
    (r"\b(?:TOD[O]|FIXM[E]|XX[X])\b", "finish it, or open an issue"),
    (r"(?<![\w.~}-])/wor[k](?:/|\b)", "a path of one machine"),
    (r"(?<![\w.~}$-])/(?:hom[e]|roo[t]|User[s])/", "a path of one person's machine"),
    (r"\bA[I]\b", "speak about the product"),
    (r"(?i)\blanguage mode[l]s? (?:wrote|made|generated)\b", "speak about the product"),
    (r"(?i)\b(?:this|that|last|next|earlier|previous|another) sessio[n]\b", "say when or who"),
    (r"(?i)\b(?:the lea[d]|colleagu[e]s?)\b", "speak about the product, not about its makers"),
    (r"(?i)\b(?:deb\.debia[n]|pyp[i]|crate[s]|npmj[s]|golan[g])\.(?:org|io|com)\b", "a host"),
)
_ANY = tuple((re.compile(pattern), advice) for pattern, advice in BANNED)


def check(tree):
    for file in tree.files:
        if file.path == "LICENSE":
            continue
        for number, line in enumerate(file.lines, 1):
            for pattern, advice in _ANY:
                if match := pattern.search(line):
                    yield Finding(file.path, number, f"'{match.group().strip()}': {advice}")
