#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kubectl nvshare set, pause and resume: which node and tenant are meant, and what is refused."""

import unittest

from deploy_case import DEPLOY, api_check, manifest_rules, read_manifests
from plugin_case import Plugin, gpu, tenant


class Set(Plugin):
    def pod(self, name, space, node):
        spec = {"nodeName": node} if node else {}
        self.answer("get", "pod", name, output={
            "metadata": {"name": name, "namespace": space},
            "spec": spec,
        })

    def setUp(self):
        super().setUp()
        self.two_nodes()
        self.answer("exec", "nvsharectl", "set", "memory", "99Pi", code=3,
                    error="nvsharectl: 99Pi is too much\ncommand terminated with exit code 3\n")
        for word in ("set", "pause", "resume"):
            self.answer("exec", "nvsharectl", word)

    def test_pod_is_found_on_its_node(self):
        self.pod("train-0", "ml", "a")
        done = self.run_it("set", "memory", "4Gi", "train-0", "-n", "ml")
        self.assertEqual(done.stdout, "pod ml/train-0 on node a: set memory 4Gi\n")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.execs()[-1], ["nvsharectl", "set", "memory", "4Gi", "1"])
        self.assertIn("nvshare-scheduler-a", self.asked("exec")[-1])
        asked = self.asked("get", "pod")[0]
        self.assertEqual(asked, ["get", "pod", "train-0", "--namespace", "ml", "-o", "json"])

    def test_the_documented_role_is_enough(self):
        """In the namespace of nvshare. An exec of kubectl gets the pod, and creates a pods/exec."""
        needs = {"get": ("pods", "list"), "exec": ("pods/exec", "create")}
        manifests = read_manifests(DEPLOY / "kubectl/rbac.yaml")
        self.assertEqual([text for one in manifests for text in api_check.problems(one)], [])
        group = ("Group", "nvshare-operators")  # of whoever knows the users
        self.assertEqual(list(manifest_rules.problems(manifests, [group])), [])
        role, binding = manifests
        self.assertEqual(binding["metadata"]["namespace"], role["metadata"]["namespace"])
        allowed = {(one, verb) for rule in role["rules"] for one in rule["resources"]
                   for verb in rule["verbs"]}
        self.assertIn(("pods", "get"), allowed)
        self.pod("train-0", "ml", "a")
        words = ["set", "memory", "4Gi", "train-0", "-n", "ml", "--system-namespace"]
        self.assertEqual(self.run_it(*words, role["metadata"]["namespace"]).returncode, 0)
        asked = [call["words"] for call in self.calls()]
        for call in asked:
            self.assertNotIn("--all-namespaces", call)
            space = call[call.index("--namespace") + 1]
            # Of the user's own namespace it asks for the pod alone.
            self.assertEqual(space == "ml", call[:2] == ["get", "pod"])
            if space != "ml":
                self.assertIn(needs[call[0]], allowed)

    def test_namespace_of_the_context(self):
        self.pod("serve", "web", "a")
        done = self.run_it("set", "cores", "40", "pod/serve")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.asked("get", "pod")[0], ["get", "pod", "serve", "-o", "json"])
        self.assertEqual(self.execs()[-1], ["nvsharectl", "set", "cores", "40", "2"])

    def test_pause_and_resume(self):
        self.pod("serve", "web", "a")
        for word in ("pause", "resume"):
            self.assertEqual(self.run_it(word, "serve").returncode, 0)
            self.assertEqual(self.execs()[-1], ["nvsharectl", word, "2"])

    def test_same_name_in_another_namespace_is_another(self):
        self.pod("train-0", "other", "a")
        done = self.run_it("set", "cores", "40", "train-0", "-n", "other")
        self.assertEqual(done.returncode, 3)
        self.assertIn("uses no GPU through nvshare", done.stderr)
        self.assertNotIn("set", [words[1] for words in self.execs()])

    def test_what_is_refused(self):
        self.pod("train-0", "ml", "a")
        self.pod("waits", "ml", None)
        self.pod("elsewhere", "ml", "cpu-node")
        for words, code, text in (
            (["memory", "99Pi", "train-0"], 3, "99Pi is too much"),
            (["memory", "1Gi", "waits"], 3, "has no node yet"),
            (["memory", "1Gi", "elsewhere"], 3, "node cpu-node of pod ml/elsewhere has no"),
        ):
            done = self.run_it("set", *words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), words)
            self.assertIn(text, done.stderr)
        missing = 'Error from server (NotFound): pods "x" not found\n'
        self.answer("get", "pod", error=missing, code=1)
        done = self.run_it("set", "memory", "1Gi", "x")
        self.assertEqual(done.returncode, 1)
        self.assertIn("NotFound", done.stderr)

    def test_several_containers(self):
        self.node("c", {"gpus": [gpu(0)], "tenants": [
            tenant(5, "ml", "both", container="one"),
            tenant(6, "ml", "both", container="two"),
        ]})
        self.rules.insert(0, self.rules.pop())
        self.pod("both", "ml", "c")
        done = self.run_it("set", "cores", "40", "both")
        self.assertEqual(done.returncode, 3)
        self.assertIn("say which by -c: one, two", done.stderr)
        self.assertEqual(self.run_it("set", "cores", "40", "both", "-c", "two").returncode, 0)
        self.assertEqual(self.execs()[-1], ["nvsharectl", "set", "cores", "40", "6"])

    def test_settings_of_gpus(self):
        done = self.run_it("set", "window", "20ms", "--node", "b", "--gpu", "0")
        self.assertEqual(done.stdout, "node b: set window 20ms --gpu 0\n")
        self.assertEqual(self.execs(), [["nvsharectl", "set", "window", "20ms", "--gpu", "0"]])
        done = self.run_it("set", "mode", "serial", "--all-nodes")
        self.assertEqual(len(self.execs()), 3)

    def test_node_that_refuses_does_not_stop_the_others(self):
        refusal = {"words": ["exec", "nvshare-scheduler-a", "set"], "code": 3, "error": "no"}
        self.rules.insert(0, refusal)
        done = self.run_it("set", "mode", "serial", "--all-nodes")
        self.assertEqual(done.returncode, 3)
        self.assertIn("node a: no", done.stderr)
        self.assertIn("node b: set mode serial", done.stdout)

    def test_wrong_command_lines(self):
        for words in (
            [],
            ["list"],
            ["status", "x"],
            ["status", "-o", "yaml"],
            ["status", "-n", "x", "-A"],
            ["status", "--timeout", "soon"],
            ["top", "--sort", "name"],
            ["set"],
            ["set", "colour", "red", "train-0"],
            ["set", "memory", "4Gi"],
            ["set", "memory", "4Gi", "train-0", "--all-nodes"],
            ["set", "memory", "4Gi", "train-0", "--node", "a"],
            ["set", "memory", "4Gi", "train-0", "--gpu", "0"],
            ["set", "mode", "serial"],
            ["set", "mode", "serial", "train-0"],
            ["set", "mode", "serial", "--node", "a", "--all-nodes"],
            ["pause"],
        ):
            with self.subTest(words):
                done = self.run_it(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("kubectl nvshare", done.stderr)
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    unittest.main()
