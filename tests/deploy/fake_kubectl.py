#!/usr/bin/env -S python3 -ISB
# SPDX-License-Identifier: Apache-2.0
"""kubectl with a cluster that is a folder, named by FAKE_CLUSTER.

    calls              what it was asked, one JSON list of words a line
    rules.json         what it answers: {"words": [], "output", "error", "code", "sleep"} each;
                       the first counts whose words all are among those asked, in that order, and
                       one with "once" only the first time

Whatever no rule is about is an error: a script that asks something new says so in its test.
"""

import json
import os
import pathlib
import sys
import time


def is_meant(rule, words):
    rest = iter(words)
    return all(word in rest for word in rule["words"])


def is_left(rule, mark):
    """Not of one that was for once, and has been used."""
    if not rule.get("once"):
        return True
    try:
        mark.touch(exist_ok=False)
        return True
    except FileExistsError:
        return False


def main(words):
    folder = pathlib.Path(os.environ["FAKE_CLUSTER"])
    stdin = "" if "-" not in words else sys.stdin.read()
    with open(folder / "calls", "a", encoding="utf-8") as calls:
        calls.write(json.dumps({"words": words, "stdin": stdin}) + "\n")
    for number, rule in enumerate(json.loads((folder / "rules.json").read_text("utf-8"))):
        if is_meant(rule, words) and is_left(rule, folder / f"used_{number}"):
            time.sleep(rule.get("sleep", 0))
            output = rule.get("output", "")
            sys.stdout.write(output if isinstance(output, str) else json.dumps(output))
            sys.stderr.write(rule.get("error", ""))
            return rule.get("code", 0)
    sys.stderr.write(f"fake kubectl: nothing is known about {words}\n")
    return 99


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
