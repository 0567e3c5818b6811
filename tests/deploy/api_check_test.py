#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of manifests find what is wrong: each is given a good one with one thing broken."""

import copy
import sys
import unittest

from deploy_case import CHART, DEPLOY, ROOT, api_check, chart, manifest_rules

sys.path.insert(0, str(ROOT / "tools"))

import gen_api_types  # noqa: E402: after the path

GONE = object()


def broken(manifest, path, value):
    """A copy with another value at a path such as spec.template.spec.0.name."""
    result = copy.deepcopy(manifest)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    at = result
    for step in steps:
        at = at[step]
    if value is GONE:
        del at[last]
    else:
        at[last] = value
    return result


def manifests_in(path):
    """The objects for a cluster in a file: no patches, no values, nothing for kustomize itself."""
    for one in chart.load_documents(path.read_text("utf-8")):
        if isinstance(one, dict) and "kind" in one and one["kind"] != "Kustomization":
            yield one


class Files(unittest.TestCase):
    def test_every_manifest_in_the_tree_is_valid(self):
        """Templates are no YAML: chart_test.py holds what they make against the same types."""
        templates = CHART / "templates"
        files = [path for path in DEPLOY.rglob("*.yaml") if templates not in path.parents]
        checked = set()
        for path in files:
            for manifest in manifests_in(path):
                checked.add(path.relative_to(DEPLOY).parts[0])
                self.assertEqual(api_check.problems(manifest), [], path)
        self.assertEqual(checked, {"examples", "kubectl", "kustomize"})

    def test_table_is_as_it_was_generated(self):
        """Its own test needs python3-kubernetes, and is skipped without."""
        self.assertEqual(api_check.TABLE["sum"], gen_api_types.sum_of(api_check.TABLE))
        self.assertEqual(api_check.TABLE["kinds"], gen_api_types.KINDS)


class Checks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.manifests = chart.Chart(CHART).manifests({"nodeLabels": "nfd"})
        cls.daemon = next(
            one for one in cls.manifests if one["metadata"]["name"] == "nvshare-scheduler"
            and one["kind"] == "DaemonSet"
        )

    def test_good_ones_are_good(self):
        for manifest in self.manifests:
            self.assertEqual(api_check.problems(manifest), [])
        self.assertEqual(list(manifest_rules.problems(self.manifests)), [])

    def test_types(self):
        pod, container = "spec/template/spec", "spec/template/spec/containers/0"
        cases = (
            (f"{pod}/hostPid", True, "no such field"),
            (f"{pod}/hostPID", "true", "not of type bool"),
            (f"{pod}/terminationGracePeriodSeconds", "10", "not of type int"),
            (f"{pod}/terminationGracePeriodSeconds", True, "not of type int"),
            (f"{pod}/containers", GONE, "containers is missing"),
            (f"{pod}/containers", {}, "is no list"),
            (f"{pod}/volumes/0/hostPath/path", GONE, "path is missing"),
            (f"{pod}/volumes/0/hostPath/type", "Folder", "no word for it"),
            (f"{pod}/tolerations/0/operator", "exists", "no word for it"),
            (f"{pod}/priorityClassName", None, "is null"),
            (f"{container}/name", GONE, "name is missing"),
            (f"{container}/args/0", 7, "not of type str"),
            (f"{container}/env/1/value", 1, "not of type str"),
            (f"{container}/readinessprobe", {}, "no such field"),
            (f"{container}/livenessProbe/exec", ["ls"], "is no V1ExecAction"),
            (f"{container}/resources/limits/memory", "8704MiB", "no quantity"),
            (f"{container}/securityContext/capabilities/dropped", [], "no such field"),
            ("spec/updateStrategy/rollingUpdate/maxSurge", 0.5, "neither a number nor a name"),
            ("spec/selector", GONE, "selector is missing"),
            ("metadata/name", "Not_a_name", "is no name"),
            ("metadata/labels/-part", "x", "is no key"),
            ("metadata/labels/part", "not a value", "is no value"),
            ("metadata/labels/part", 1, "not of type str"),
            ("kind", "DaemonSets", "no kind that we know"),
            ("status", {}, "not ours to write"),
        )
        for path, value, words in cases:
            with self.subTest(path, value=value):
                found = api_check.problems(broken(self.daemon, path, value))
                self.assertEqual(len(found), 1, found)
                self.assertIn(words, found[0])

    def test_rules(self):
        pod, container = "spec/template/spec", "spec/template/spec/containers/0"
        cases = (
            (f"{pod}/serviceAccountName", "other", "there is no ServiceAccount other"),
            (f"{container}/volumeMounts/0/name", "other", "no volume is called other"),
            (f"{container}/volumeMounts/1/mountPath", "/var/run/nvshare", "two volumes at"),
            (f"{pod}/volumes/1/configMap", {"name": "other"}, "no ConfigMap other"),
            (f"{container}/env/1/name", "NODE_NAME", "is set twice"),
            (f"{container}/livenessProbe/tcpSocket", {"port": 1}, "does 2 things"),
            (f"{container}/resources/limits/nvshare.com~gpu", "1.5", "no whole number"),
            (f"{container}/image", "", "has no image"),
            ("spec/template/metadata/labels", {}, "is not on its pods"),
            ("metadata/name", "nvshare-device-plugin", "is there twice"),
        )
        for path, value, words in cases:
            with self.subTest(path):
                bad = broken(self.daemon, path, value)
                if "~" in path:
                    limits = bad["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
                    limits["nvshare.com/gpu"] = limits.pop("nvshare.com~gpu")
                others = [one for one in self.manifests if one is not self.daemon]
                found = list(manifest_rules.problems([*others, bad]))
                self.assertIn(words, " ".join(found))

    def test_daemon_sets_that_take_each_others_pods(self):
        other = broken(self.daemon, "metadata/name", "other")
        found = " ".join(manifest_rules.problems([*self.manifests, other]))
        self.assertIn("would own the pods of", found)

    def test_namespace_of_what_has_none(self):
        role = next(one for one in self.manifests if one["kind"] == "ClusterRole")
        found = list(manifest_rules.problems([broken(role, "metadata/namespace", "x")]))
        self.assertIn("belongs to the cluster", found[0])


if __name__ == "__main__":
    unittest.main()
