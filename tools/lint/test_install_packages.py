# SPDX-License-Identifier: Apache-2.0
"""tools/install_packages.sh, with programs of Debian that are scripts: what it would install."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "install_packages.sh"
LIST = """\
# group package what for
build  one         the first
test   two         the second
test   three|four  either
"""
FAKES = {
    "dpkg-query": 'case " $INSTALLED " in *" ${3} "*) echo "ii " ;; *) exit 1 ;; esac',
    "apt-get": 'echo "$@" >>"$CALLS"',
    "id": "echo 0",
}


class InstallPackages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "packages.txt").write_text(LIST, "utf-8")
        self.script = self.folder / "install_packages.sh"
        self.script.write_text(SCRIPT.read_text("utf-8"), "utf-8")
        for name, body in FAKES.items():
            path = self.folder / name
            path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
            path.chmod(0o755)

    def installs(self, groups, installed):
        """The packages that apt is asked for, given what is there; nothing if it is not asked."""
        calls = self.folder / "calls"
        calls.write_text("", "utf-8")
        variables = {
            **os.environ,
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "INSTALLED": installed,
            "CALLS": str(calls),
        }
        command = ["bash", str(self.script), *groups.split()]
        done = subprocess.run(command, env=variables, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0 if groups else 2, done.stderr)
        lines = [line for line in calls.read_text("utf-8").splitlines() if " install " in line]
        return lines[0].partition("--no-install-recommends ")[2] if lines else ""

    def test_what_is_missing_of_the_groups(self):
        self.assertEqual(self.installs("build", ""), "one")
        self.assertEqual(self.installs("build test", "one"), "two three")
        self.assertEqual(self.installs("build test", "one two three"), "")
        self.assertEqual(self.installs("", ""), "")

    def test_either_will_do(self):
        self.assertEqual(self.installs("test", "two four"), "")
        self.assertEqual(self.installs("test", "four"), "two")
        self.assertEqual(self.installs("test", "two"), "three")


if __name__ == "__main__":
    unittest.main()
