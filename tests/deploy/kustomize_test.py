#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `kubectl kustomize` renders, held against the chart and the types of the API.

usage: kustomize_test.py [UNITTEST_ARGUMENT...]   $KUBECTL, else kubectl of the PATH, is used;
exit status 77 where there is none
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml
from deploy_case import CHART, DEPLOY, DeployCase, chart, pod_of

KUBECTL = shutil.which(os.environ.get("KUBECTL", "kubectl"))
MONITORING = "monitoring.coreos.com/v1"


def kubectl(*words):
    # No cluster has a say in it.
    variables = {**os.environ, "KUBECONFIG": "/nonexistent"}
    return subprocess.run(
        [KUBECTL, *words], capture_output=True, text=True, check=False, env=variables
    )


def is_old():
    """Up to kubectl 1.20 kustomize 2.0.3 is in it, with other words for bases and patches."""
    minor = re.search(r'(?:v1\.|Minor:")(\d+)', kubectl("version", "--client").stdout)
    return minor is not None and int(minor.group(1)) <= 20


def rewrite(path):
    """A kustomization in the words of kustomize 2.0.3."""
    about = chart.load_yaml(path.read_text("utf-8"))
    resources = about.pop("resources")
    about["bases"] = [one for one in resources if not one.endswith(".yaml")]
    about["resources"] = [one for one in resources if one.endswith(".yaml")]
    about["patchesJson6902"] = about.pop("patches", [])
    path.write_text(yaml.safe_dump(about), "utf-8")


def in_order(manifests):
    return sorted(manifests, key=lambda one: (one["kind"], one["metadata"]["name"]))


@unittest.skipIf(KUBECTL is None, "there is no kubectl")
class Kustomize(DeployCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = shutil.copytree(DEPLOY / "kustomize", Path(folder.name) / "kustomize")
        if is_old():
            for path in Path(cls.folder).rglob("kustomization.yaml"):
                rewrite(path)
        cls.chart = chart.Chart(CHART)

    def render(self, name):
        done = kubectl("kustomize", str(Path(self.folder) / name))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("deprecated", done.stderr)
        manifests = chart.load_documents(done.stdout)
        # OpenShift itself has this role.
        self.assert_valid(manifests, [("ClusterRole", "system:openshift:scc:privileged")])
        return manifests

    def of_the_chart(self, values):
        manifests = self.chart.manifests(
            {**values, "cleanup": {"enabled": False}}, [MONITORING], Service="kustomize"
        )
        return in_order(manifests)

    def assert_is_the_chart(self, name, values):
        manifests = self.render(name)
        space = self.one(manifests, "Namespace")
        levels = space["metadata"]["labels"]
        self.assertEqual(levels["pod-security.kubernetes.io/enforce"], "privileged")
        others = [one for one in manifests if one is not space]
        self.assertEqual(in_order(others), self.of_the_chart(values))
        for manifest in others:
            if "namespace" in manifest["metadata"]:
                name = space["metadata"]["name"]
                self.assertEqual(manifest["metadata"]["namespace"], name)

    def values_file(self, name):
        return chart.load_yaml((CHART / f"ci/{name}-values.yaml").read_text("utf-8"))

    def test_base(self):
        self.assert_is_the_chart("base", {})

    def test_cdi(self):
        self.assert_is_the_chart("overlays/cdi", self.values_file("cdi"))

    def test_monitoring(self):
        self.assert_is_the_chart("overlays/monitoring", self.values_file("monitoring"))

    def test_time_slicing(self):
        manifests = self.render("overlays/time-slicing")
        name = self.one(manifests, "ConfigMap")["metadata"]["name"]
        pod = pod_of(self.one(manifests, "DaemonSet", "nvshare-device-plugin"))
        volume = next(one for one in pod["volumes"] if one["name"] == "config")
        self.assertEqual(volume["configMap"]["name"], name)
        self.assertRegex(name, r"nvshare-device-plugin-\w+")
        self.assertIn("cdi", [one["name"] for one in pod["volumes"]])
        file = Path(self.folder) / "overlays/time-slicing/config/few"
        self.assertEqual(self.one(manifests, "ConfigMap")["data"], {"few": file.read_text("utf-8")})
        self.assertIn(
            "--config-file=/etc/nvshare/device-plugin/few", pod["containers"][0]["args"]
        )

    def test_cleanup_has_nothing_of_helm(self):
        manifests = self.render("cleanup")
        self.assertEqual({one["kind"] for one in manifests}, {"Namespace", "DaemonSet"})
        self.assertNotIn("helm.sh", yaml.safe_dump_all(manifests))
        of_base = self.one(self.render("base"), "Namespace")
        self.assertEqual(self.one(manifests, "Namespace"), of_base)

    def test_node_labels(self):
        """What it writes is removed with it, as the chart does it."""
        values = {"nodeLabels": "nfd"}
        self.assert_is_the_chart("overlays/node-labels", values)
        manifests = self.render("overlays/node-labels/cleanup")
        pods = self.one(manifests, "DaemonSet")
        self.assertIn("/features.d/nvshare", pod_of(pods)["initContainers"][0]["args"][0])
        rendered = self.chart.manifests(values, Service="kustomize")
        of_chart = self.one(rendered, "DaemonSet", "nvshare-cleanup")
        self.assertEqual(pods["spec"], of_chart["spec"])

    def test_openshift(self):
        values = {"openshift": {"scc": "privileged"}, "seLinuxOptions": {"type": "spc_t"}}
        self.assert_is_the_chart("overlays/openshift", values)
        manifests = self.render("overlays/openshift/cleanup")
        rendered = self.chart.manifests(values, Service="kustomize")
        of_chart = self.one(rendered, "DaemonSet", "nvshare-cleanup")
        self.assertEqual(self.one(manifests, "DaemonSet")["spec"], of_chart["spec"])
        of_chart = self.one(rendered, "RoleBinding", "nvshare-cleanup-scc")
        binding = self.one(manifests, "RoleBinding")
        self.assertEqual(
            [binding["roleRef"], binding["subjects"]], [of_chart["roleRef"], of_chart["subjects"]]
        )

    def test_images_are_pulled_from_where_the_kustomization_says(self):
        registry = "registry.example.com:5000/gpu"
        for name in ("base", "cleanup"):
            path = Path(self.folder) / name / "kustomization.yaml"
            good = path.read_text("utf-8")
            self.addCleanup(path.write_text, good, "utf-8")
            path.write_text(good.replace("newName: ", f"newName: {registry}/"), "utf-8")
        version = self.chart.about["appVersion"]
        images = {
            f"nvshare-{name}": f"{registry}/nvshare-{image}:{version}"
            for name, image in (
                ("scheduler", "scheduler"),
                ("device-plugin", "device-plugin"),
                ("cleanup", "device-plugin"),
            )
        }
        for name in ("base", "cleanup", "overlays/cdi", "overlays/node-labels/cleanup"):
            for manifest in self.render(name):
                if manifest["kind"] != "DaemonSet":
                    continue
                pod, wanted = pod_of(manifest), images[manifest["metadata"]["name"]]
                for container in pod["containers"] + pod.get("initContainers", []):
                    self.assertEqual(container["image"], wanted, name)

    def test_patch_of_what_has_changed_fails(self):
        """Rather than changing another argument."""
        path = Path(self.folder) / "base/device-plugin.yaml"
        good = path.read_text("utf-8")
        self.addCleanup(path.write_text, good, "utf-8")
        path.write_text(good.replace("--probes=:9403", "--other"), "utf-8")
        done = kubectl("kustomize", str(Path(self.folder) / "overlays/cdi"))
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    if KUBECTL is None:
        print("skipped: there is no kubectl")
        sys.exit(77)
    unittest.main()
