#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What make krew makes of kubectl-nvshare: an archive, and a manifest that is true of it."""

import hashlib
import io
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

from deploy_case import CHART, DEPLOY, ROOT, chart

URL = "https://downloads.example.com/nvshare/v1"


class Krew(unittest.TestCase):
    def make(self, *words):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        command = [sys.executable, "-B", ROOT / "tools/make_krew.py", *words]
        done = subprocess.run(
            [*command, "--folder", folder.name], capture_output=True, text=True, check=False
        )
        files = {path.name: path.read_bytes() for path in pathlib.Path(folder.name).iterdir()}
        return done, files

    def test_manifest_is_true_of_the_archive(self):
        done, files = self.make(f"{URL}/")
        self.assertEqual(done.returncode, 0, done.stderr)
        version = chart.Chart(CHART).about["appVersion"]
        name = f"kubectl-nvshare-{version}.tar.gz"
        self.assertEqual(set(files), {name, "nvshare.yaml"})
        text = files["nvshare.yaml"].decode()
        self.assertNotIn("@", text)
        manifest = chart.load_yaml(text)
        self.assertEqual(manifest["apiVersion"], "krew.googlecontainertools.github.com/v1alpha2")
        self.assertEqual((manifest["kind"], manifest["metadata"]), ("Plugin", {"name": "nvshare"}))
        spec = manifest["spec"]
        self.assertEqual((spec["version"], spec["homepage"]), (f"v{version}", URL))
        self.assertLessEqual(len(spec["shortDescription"]), 50)
        (platform,) = spec["platforms"]
        self.assertEqual(set(platform), {"selector", "uri", "sha256", "files", "bin"})
        self.assertEqual(platform["uri"], f"{URL}/{name}")
        self.assertEqual(platform["sha256"], hashlib.sha256(files[name]).hexdigest())
        with tarfile.open(fileobj=io.BytesIO(files[name])) as archive:
            wanted = [file["from"] for file in platform["files"]]
            self.assertCountEqual(archive.getnames(), wanted)
            self.assertIn(platform["bin"], wanted)
            program = archive.extractfile(platform["bin"]).read()
            self.assertEqual(archive.getmember(platform["bin"]).mode, 0o755)
        self.assertEqual(program, (DEPLOY / "kubectl/kubectl-nvshare").read_bytes())

    def test_make_installs_what_it_needs(self):
        command = ["make", "--no-print-directory", "--dry-run", "krew", f"URL={URL}"]
        text = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        self.assertRegex(text, "(?s)install_packages.sh build.*make_krew.py")

    def test_same_sources_make_the_same_bytes(self):
        self.assertEqual(self.make(URL)[1], self.make(URL)[1])

    def test_homepage_can_be_another(self):
        _, files = self.make(URL, "--homepage", "https://example.com/nvshare")
        manifest = chart.load_yaml(files["nvshare.yaml"].decode())
        self.assertEqual(manifest["spec"]["homepage"], "https://example.com/nvshare")

    def test_without_an_address_there_is_none(self):
        for words in ((), ("",), ("ftp://example.com",), ("https://a b",), ("https://a#b",)):
            done, files = self.make(*words)
            self.assertEqual((done.returncode, files), (2, {}), words)


if __name__ == "__main__":
    unittest.main()
