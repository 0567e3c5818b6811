# SPDX-License-Identifier: Apache-2.0
"""What the tests of deploy/ have in common. Exit status 77: Debian's python3-yaml is missing."""

import pathlib
import sys
import unittest

try:
    import yaml  # noqa: F401: only whether it is there
except ImportError:
    print("skipped: python3-yaml is not installed")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm/nvshare"
sys.path.insert(0, str(ROOT / "tools/helm"))

import api_check  # noqa: E402: after the path
import chart  # noqa: E402
import manifest_rules  # noqa: E402


class DeployCase(unittest.TestCase):
    """Assertions about manifests."""

    maxDiff = None

    def assert_valid(self, manifests, given=()):
        self.assertTrue(manifests)
        found = [text for one in manifests for text in api_check.problems(one)]
        found += manifest_rules.problems(manifests, given)
        self.assertEqual(found, [])

    def one(self, manifests, kind, name=None):
        """The only manifest of that kind, and name if there is one."""
        found = [one for one in manifests if one["kind"] == kind]
        found = [one for one in found if name in (None, one["metadata"]["name"])]
        self.assertEqual(len(found), 1, f"{kind} {name}")
        return found[0]


def pod_of(manifest):
    return manifest["spec"]["template"]["spec"]


def read_manifests(path):
    return chart.load_documents(pathlib.Path(path).read_text("utf-8"))
