# SPDX-License-Identifier: Apache-2.0
"""What the tests of scripts that call kubectl have in common: a cluster that is a folder."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FAKE = pathlib.Path(__file__).resolve().parent / "fake_kubectl.py"


class ClusterCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rules = []

    def answer(self, *words, **what):
        """kubectl, asked these words among others, prints `output` and ends with `code`."""
        self.rules.append({"words": words, **what})

    def run_script(self, script, *words, **variables):
        (self.folder / "rules.json").write_text(json.dumps(self.rules), "utf-8")
        ours = {"KUBECTL": str(FAKE), "FAKE_CLUSTER": str(self.folder), **variables}
        return subprocess.run(
            [sys.executable, "-B", str(script), *words],
            env={**os.environ, **ours},
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

    def calls(self):
        """What kubectl was asked: words and standard input."""
        path = self.folder / "calls"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return list(map(json.loads, lines))

    def asked(self, *words):
        """The calls that begin with these words."""
        every = [call["words"] for call in self.calls()]
        return [call for call in every if tuple(call[: len(words)]) == words]
