#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pods of an uninstallation do on a host, with a folder in its place, and when."""

import fcntl
import os
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

from deploy_case import CHART, ROOT, DeployCase, chart, pod_of
from template_functions import FUNCTIONS
from template_text import TemplateError

# What we leave on hosts, and what is others'.
OURS = (
    "run/nvshare/lock",
    "run/nvshare/state.json",
    "run/nvshare/tenant/scheduler.sock",
    "lib/nvshare/lock",
    "lib/nvshare/resources",
    "lib/nvshare/0.1.0/libnvshare.so",
    "lib/nvshare/0.2.0/libnvshare.so",
    "run/cdi/nvshare.com-gpu.json",
    "features.d/nvshare",
    "device-plugins/nvshare-gpu-1-0a1b2c3d-1.sock",
    "device-plugins/nvshare-gpu-memory-4711-ffffffff-12.sock",
)
THEIRS = (
    "run/nvshare.pid",
    "run/cdi/nvidia.yaml",
    "lib/kubelet/config.yaml",
    "features.d/gfd",
    "device-plugins/kubelet.sock",
    "device-plugins/kubelet_internal_checkpoint",
    "device-plugins/nvidia-gpu.sock",
    "device-plugins/nvshare-device-plugin.sock",
)


def run_hooks(manifests, job_succeeds, is_new):
    """What there is when Helm has run the hooks, by kind; pkg/action/hooks.go. Since 3.19
    a hook that fails makes it delete those before it that succeeded, if their policy says so.
    """
    def policies(manifest):
        return manifest["metadata"]["annotations"]["helm.sh/hook-delete-policy"].split(",")

    hooks = [one for one in manifests if "helm.sh/hook" in one["metadata"].get("annotations", {})]
    hooks.sort(key=lambda one: int(one["metadata"]["annotations"]["helm.sh/hook-weight"]))
    there = {}
    for number, hook in enumerate(hooks):
        there[hook["kind"]] = hook
        if hook["kind"] != "Job":
            continue
        if not job_succeeds:
            done = hooks[:number] if is_new else []
            gone = [one for one in done if "hook-succeeded" in policies(one)]
            gone += [hook] if "hook-failed" in policies(hook) else []
            return {kind for kind, one in there.items() if one not in gone}
        run_job(hook, there)
    return {kind for kind, one in there.items() if "hook-succeeded" not in policies(one)}


def run_job(job, there):
    """Its containers, in order, as kubectl would do what they say if the account may."""
    spec = pod_of(job)
    (rules,) = there["Role"]["rules"]
    name = f"daemonset/{there['DaemonSet']['metadata']['name']}"
    wait, delete = (one["args"] for one in spec["initContainers"] + spec["containers"])
    assert wait[:3] == ["rollout", "status", name]
    assert delete[:2] == ["delete", name]
    assert rules["resourceNames"] == [name.partition("/")[2]]
    assert {"get", "list", "watch", "delete"} == set(rules["verbs"])
    del there["DaemonSet"]


class Hook(DeployCase):
    """What Helm makes of it."""

    @classmethod
    def setUpClass(cls):
        cls.manifests = chart.Chart(CHART).manifests()

    def test_cleanup_is_a_hook_in_order(self):
        """The pods before who waits for them."""
        weights = {}
        for manifest in self.manifests:
            annotations = manifest["metadata"].get("annotations", {})
            if "cleanup" not in manifest["metadata"]["name"]:
                self.assertNotIn("helm.sh/hook", annotations)
                continue
            self.assertEqual(annotations["helm.sh/hook"], "post-delete")
            self.assertIn("before-hook-creation", annotations["helm.sh/hook-delete-policy"])
            weights[manifest["kind"]] = int(annotations["helm.sh/hook-weight"])
        self.assertLess(weights["ServiceAccount"], weights["DaemonSet"])
        self.assertLess(weights["RoleBinding"], weights["DaemonSet"])
        self.assertLess(weights["DaemonSet"], weights["Job"])
        # Before Helm's own patience ends, image and retries and all.
        self.assertEqual(self.one(self.manifests, "Job")["spec"]["activeDeadlineSeconds"], 240)

    def test_nothing_of_it_stays(self):
        for is_new in (False, True):
            self.assertEqual(run_hooks(self.manifests, True, is_new), set())

    def test_who_waits_for_pods_stays_when_helm_gives_up(self):
        for is_new in (False, True):
            self.assertIn("DaemonSet", run_hooks(self.manifests, False, is_new))
        # It does not need what a newer Helm takes away.
        pod = pod_of(self.one(self.manifests, "DaemonSet", "nvshare-cleanup"))
        self.assertNotIn("serviceAccountName", pod)

    def test_retries_do_not_wait_for_what_is_deleted(self):
        job = pod_of(self.one(self.manifests, "Job"))
        self.assertEqual(job["restartPolicy"], "OnFailure")
        self.assertIn("--ignore-not-found", job["containers"][0]["args"])

    def test_job_may_run_where_the_daemons_may(self):
        tolerations = [{"key": "mine", "operator": "Exists"}]
        manifests = chart.Chart(CHART).manifests({"tolerations": tolerations})
        self.assertEqual(pod_of(self.one(manifests, "Job"))["tolerations"], tolerations)

    def test_kubectl_may_come_from_the_registry_of_the_others(self):
        for registry, image, whole in (
            ("", "kubectl:v1", "kubectl:v1"),
            ("r.example.com/gpu/", "kubectl:v1", "r.example.com/gpu/kubectl:v1"),
            ("r.example.com", "registry.k8s.io/kubectl:v1", "registry.k8s.io/kubectl:v1"),
        ):
            values = {"image": {"registry": registry}, "cleanup": {"kubectlImage": image}}
            job = pod_of(self.one(chart.Chart(CHART).manifests(values), "Job"))
            for container in job["initContainers"] + job["containers"]:
                self.assertEqual(container["image"], whole)

    def test_documented_command_is_the_charts(self):
        """Of what it names some is gone, depending on Helm."""
        kinds = "daemonset,job,role,rolebinding,serviceaccount"
        command = f"kubectl -n nvshare-system delete --ignore-not-found {kinds} nvshare-cleanup"
        self.assertIn(f"{command}\n", chart.Chart(CHART).render()[chart.NOTES])
        command += " nvshare-cleanup-scc\n"
        values = {"openshift": {"scc": "privileged"}}
        self.assertIn(command, chart.Chart(CHART).render(values)[chart.NOTES])
        self.assertIn(command, (ROOT / "docs/kubernetes.md").read_text("utf-8"))

    def test_no_installation_beside_an_uninstallation(self):
        asked = []

        def lookup(*words):
            asked.append(words)
            return {"kind": "DaemonSet"}

        with unittest.mock.patch.dict(FUNCTIONS, lookup=lookup):
            with self.assertRaisesRegex(TemplateError, "delete .*daemonset,job.* gpus-cleanup"):
                chart.Chart(CHART).render({"fullnameOverride": "gpus"}, Namespace="lab")
        self.assertEqual(asked, [("apps/v1", "DaemonSet", "lab", "gpus-cleanup")])


class Cleanup(DeployCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.host = pathlib.Path(folder.name, "host")
        self.bin = pathlib.Path(folder.name, "bin")
        self.host.mkdir()
        self.bin.mkdir()
        self.pods_end_after(0)

    def fill(self, *paths):
        for path in paths:
            (self.host / path).parent.mkdir(parents=True, exist_ok=True)
            (self.host / path).write_text("x")

    def left(self):
        files = (path for path in self.host.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.host)) for path in files)

    def pods_end_after(self, questions):
        """A plugin that finds pods so many times, and then none."""
        (self.bin / "left").write_text("x" * questions)
        plugin = self.bin / "nvshare-device-plugin"
        plugin.write_text(
            f'#!/bin/sh\n[ "$*" = "--unused --root-mount={self.host}/lib/nvshare" ] || exit 9\n'
            f'cd "{self.bin}"\n'
            f'find "{self.host}" -type f | wc -l >> seen\n'
            "[ -s left ] || exit 0\ntruncate -s -1 left\necho lab/train has GPU-x::3\nexit 1\n"
        )
        plugin.chmod(0o755)

    def run_script(self, patience=60):
        manifests = chart.Chart(CHART).manifests({"nodeLabels": "nfd"})
        (container,) = pod_of(self.one(manifests, "DaemonSet", "nvshare-cleanup"))["initContainers"]
        self.assertEqual(container["command"], ["sh", "-c"])
        (script,) = container["args"]
        mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
        asked = "/var/lib/kubelet/pod-resources"
        ours = {"/host/run", "/host/lib", "/host/features.d", "/host/device-plugins"}
        self.assertEqual(mounts, {*ours, asked})
        script = script.replace("/host", str(self.host))
        script = script.replace("--timeout 60", f"--timeout {patience}")
        script = script.replace("sleep 5", "sleep 0")
        path = f"{self.bin}:{os.environ['PATH']}"
        words = ["sh", "-c", script]
        done = subprocess.run(words, env={**os.environ, "PATH": path}, check=False, timeout=60)
        return done.returncode

    def test_nothing_of_ours_stays(self):
        self.fill(*OURS, *THEIRS)
        self.assertEqual(self.run_script(), 0)
        self.assertEqual(self.left(), sorted(THEIRS))
        self.assertFalse((self.host / "run/nvshare").exists())
        self.assertFalse((self.host / "lib/nvshare").exists())

    def test_folder_of_cdi_that_was_ours_alone(self):
        self.fill(*OURS)
        self.assertEqual(self.run_script(), 0)
        self.assertEqual(sorted(path.name for path in (self.host / "run").iterdir()), [])

    def test_again_and_where_nothing_was(self):
        for folder in ("run", "lib", "features.d"):
            (self.host / folder).mkdir()
        self.assertEqual(self.run_script(), 0)
        self.assertEqual(self.run_script(), 0)

    def test_pods_that_may_be_restarted_are_not_robbed(self):
        self.fill(*OURS)
        self.pods_end_after(3)
        self.assertEqual(self.run_script(), 0)
        # Each time it asked everything was there.
        self.assertEqual((self.bin / "seen").read_text().split(), [str(len(OURS))] * 5)
        self.assertEqual(self.left(), [])

    def test_a_plugin_that_cannot_say_ends_it(self):
        self.fill(*OURS)
        for code in (2, 127, 139):
            (self.bin / "nvshare-device-plugin").write_text(f"#!/bin/sh\nexit {code}\n")
            self.assertNotEqual(self.run_script(), 0)
            self.assertEqual(self.left(), sorted(OURS))

    def check_not_robbed(self, file, how):
        """Of a program that holds this lock."""
        self.fill(*OURS)
        with open(self.host / file, "rb") as lock:
            fcntl.flock(lock, how)
            self.assertNotEqual(self.run_script(patience=0), 0)
            self.assertEqual(self.left(), sorted(OURS))
        self.assertEqual(self.run_script(), 0)
        self.assertEqual(self.left(), [])

    def test_daemon_that_still_runs_is_not_robbed(self):
        self.check_not_robbed("run/nvshare/lock", fcntl.LOCK_EX)

    def test_plugin_that_still_runs_is_not_robbed(self):
        self.check_not_robbed("lib/nvshare/lock", fcntl.LOCK_SH)

    def test_pods_that_came_meanwhile_are_not_robbed(self):
        self.fill(*OURS)
        (self.bin / "nvshare-device-plugin").write_text(
            f'#!/bin/sh\n[ -e "{self.bin}/asked" ] && exit 1\ntouch "{self.bin}/asked"\n'
        )
        self.assertNotEqual(self.run_script(), 0)
        self.assertEqual(self.left(), sorted(OURS))


if __name__ == "__main__":
    unittest.main()
