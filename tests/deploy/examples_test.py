#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example pods and jobs: valid, and with names that the product knows."""

import re
import unittest

from deploy_case import DEPLOY, ROOT, DeployCase, chart, read_manifests
from manifest_rules import pod_spec_of

EXAMPLES = DEPLOY / "examples"
ANNOTATIONS = {"nvshare.com/gpu-memory-limit", "nvshare.com/gpu-core-limit"}
GPU = "nvshare.com/gpu"
RESOURCES = {
    GPU,
    "nvshare.com/gpu-memory",
    "nvshare.com/gpu-core",
    "nvidia.com/gpu",
}


def names_in_sources():
    """Every NVSHARE_ variable that the product names in a string."""
    sources = [*(ROOT / "src").rglob("*.cpp"), *(ROOT / "src").rglob("*.h")]
    text = "\n".join(path.read_text("utf-8") for path in sources)
    return set(re.findall(r'"(NVSHARE_\w+)', text))


class Examples(DeployCase):
    @classmethod
    def setUpClass(cls):
        cls.files = sorted(EXAMPLES.rglob("*.yaml"))
        cls.manifests = {path: read_manifests(path) for path in cls.files}

    def test_valid(self):
        self.assertGreaterEqual(len(self.files), 14)
        for path, manifests in self.manifests.items():
            with self.subTest(path.name):
                self.assert_valid(manifests)

    def test_names_are_those_of_the_product(self):
        known = names_in_sources()
        for path, manifests in self.manifests.items():
            for manifest in manifests:
                annotations = set(manifest["metadata"].get("annotations", {}))
                self.assertLessEqual(annotations, ANNOTATIONS, path.name)
                for container in pod_spec_of(manifest)[0]["containers"]:
                    limits = container["resources"]["limits"]
                    self.assertLessEqual(set(limits), RESOURCES, path.name)
                    variables = {one["name"] for one in container.get("env", [])}
                    self.assertLessEqual(variables, known, path.name)

    def test_everything_that_can_be_asked_for_has_a_pod_of_its_own(self):
        """Where there is an example it is of one thing: what a pod asks for beside a GPU."""
        asked = []
        for manifests in self.manifests.values():
            for manifest in manifests:
                (container,) = pod_spec_of(manifest)[0]["containers"]
                annotations = set(manifest["metadata"].get("annotations", {}))
                asked.append(annotations | set(container["resources"]["limits"]) - {GPU})
        for name in (ANNOTATIONS | RESOURCES) - {GPU}:
            self.assertIn({name}, asked)
        self.assertIn(set(), asked, "a GPU alone")

    def test_they_run_workloads_that_there_are(self):
        source = (ROOT / "workloads/workload.cpp").read_text("utf-8")
        flags = (ROOT / "workloads/options.cpp").read_text("utf-8")
        version = chart.load_yaml((DEPLOY / "helm/nvshare/Chart.yaml").read_text("utf-8"))
        for path, manifests in self.manifests.items():
            for manifest in manifests:
                (container,) = pod_spec_of(manifest)[0]["containers"]
                self.assertEqual(container["image"], f"nvshare-workload:{version['appVersion']}")
                self.assertIn(f'.name = "{container["args"][0]}"', source, path.name)
                for word in container["args"][1:]:
                    self.assertTrue(not word.startswith("--") or f'"{word}"' in flags, word)

    def test_readme_names_every_pod(self):
        text = (EXAMPLES / "README.md").read_text("utf-8")
        for path in EXAMPLES.glob("*.yaml"):
            self.assertIn(f"`{path.name}`", text)


if __name__ == "__main__":
    unittest.main()
