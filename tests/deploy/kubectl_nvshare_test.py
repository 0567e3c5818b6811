#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kubectl nvshare status and top as a user meets them, in front of a kubectl that is a script."""

import json
import subprocess
import sys
import unittest

from deploy_case import CHART, chart, pod_of
from plugin_case import GIB, SCRIPT, Plugin, gpu, scheduler, tenant, use


class Status(Plugin):
    def test_all_nodes_in_one_table(self):
        self.two_nodes()
        done = self.run_it("status")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, """\
NODE  GPU  NAME         MEMORY  MODE    HOLDER      WAITING
a     0    NVIDIA H200  140GiB  auto    ml/train-0  1
a     1    NVIDIA H200  140GiB  serial  -           0
b     0    NVIDIA H200  140GiB  auto    -           0

NODE  NAMESPACE  POD      GPU  STATE    PRIORITY  USED   WAITED  MEMORY  LIMIT   CAP
a     ml         train-0  0    running  normal    12.3s  500ms   2.0GiB  4.0GiB  75>50
a     web        serve    0    waiting  normal    12.3s  500ms   2.0GiB  -       -
a     web        serve    1    running  normal    12.3s  500ms   2.0GiB  -       -
b     ml         train-1  -    absent   normal    0ms    0ms     -       -       -
b     -          (bash)   0    running  normal    12.3s  500ms   2.0GiB  -       -
""")

    def test_how_kubectl_is_asked(self):
        self.two_nodes()
        cluster = ["--context=prod", "--kubeconfig=/k"]
        self.run_it("status", "--context", "prod", *cluster[1:], "--system-namespace", "gpus")
        get, first, second = sorted(
            (call["words"] for call in self.calls()), key=lambda one: (one[0] != "get", one)
        )
        selector = "app.kubernetes.io/part-of=nvshare,app.kubernetes.io/component=scheduler"
        where = ["--namespace", "gpus", "--selector", selector]
        self.assertEqual(get, ["get", *cluster, "pods", *where, "-o", "json"])
        for call, node in ((first, "a"), (second, "b")):
            pod = ["--namespace", "nvshare-system", f"nvshare-scheduler-{node}"]
            inside = ["--container", "scheduler", "--", "nvsharectl", "status", "-o", "json"]
            self.assertEqual(call, ["exec", *cluster, *pod, *inside])

    def test_flags_of_kubectl_are_passed_on(self):
        """Before the command, after it, and both."""
        self.two_nodes()
        one = ["--as", "me", "--as-group=a", "--as-group", "b", "-s", "https://x", "--token=-t"]
        two = ["--insecure-skip-tls-verify", "--request-timeout", "5s", "--user", "u"]
        three = ["--cluster=c", "--client-key=k", "--client-certificate=l"]
        wanted = ["--as=me", "--as-group=a", "--as-group=b", "--server=https://x", "--token=-t"]
        wanted += ["--insecure-skip-tls-verify=true", "--request-timeout=5s", "--user=u", *three]
        for words in (
            [*one, *two, *three, "status"],
            ["status", *one, *two, *three],
            [*one, "status", *two, *three],
        ):
            done = self.run_it(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for call in self.calls()[-3:]:
                self.assertEqual(call["words"][1 : 1 + len(wanted)], wanted)

    def test_namespace_before_the_command(self):
        self.two_nodes()
        for words in (["-n", "web", "status"], ["--namespace=web", "status", "-o", "wide"]):
            self.assertNotIn("train-1", self.run_it(*words).stdout)
        self.assertIn("train-1", self.run_it("-A", "status").stdout)
        self.assertEqual(self.run_it("-n", "web", "status", "-A").returncode, 2)

    def test_what_it_looks_for_is_what_the_chart_makes(self):
        manifests = chart.Chart(CHART).manifests()
        (daemon,) = [
            one for one in manifests
            if one["kind"] == "DaemonSet" and one["metadata"]["name"] == "nvshare-scheduler"
        ]
        labels = daemon["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(labels["app.kubernetes.io/part-of"], "nvshare")
        self.assertEqual(labels["app.kubernetes.io/component"], "scheduler")
        self.assertEqual(pod_of(daemon)["containers"][0]["name"], "scheduler")

    def test_namespace(self):
        self.two_nodes()
        done = self.run_it("status", "-n", "web")
        self.assertIn("serve", done.stdout)
        self.assertNotIn("train", done.stdout.split("\n\n")[1])

    def test_wide(self):
        self.two_nodes()
        rows = self.rows(self.run_it("status", "-o", "wide"))
        self.assertEqual(rows[1][-4:], ["40ms", "auto", "7", "GPU-0"])
        self.assertEqual(rows[2][-4:], ["40ms", "30.0s", "7", "GPU-1"])
        self.assertEqual(rows[6][-4:], ["main", "1", "20ms", "-"])

    def test_json(self):
        self.two_nodes()
        self.node("c", error="boom\n", code=1)
        done = self.run_it("status", "-o", "json")
        self.assertEqual(done.returncode, 1)
        nodes = {one["node"]: one for one in json.loads(done.stdout)["nodes"]}
        self.assertEqual(set(nodes), {"a", "b", "c"})
        self.assertEqual(nodes["a"]["status"]["tenants"][0]["pod"], "train-0")
        self.assertEqual(nodes["c"], {"node": "c", "error": "boom"})

    def test_one_node(self):
        self.two_nodes()
        done = self.run_it("status", "--node", "b")
        self.assertEqual({row[0] for row in self.rows(done) if row}, {"NODE", "b"})
        done = self.run_it("status", "--node", "z")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("node z has no nvshare-scheduler", done.stderr)

    def test_nodes_that_do_not_answer_are_shown(self):
        self.two_nodes()
        self.node("broken", error="unable to upgrade connection\n", code=1)
        self.node("mad", "no json")
        self.node("odd", {"other": 1})
        self.node("pending", pod=scheduler("pending", "Pending"))
        done = self.run_it("status")
        self.assertEqual(done.returncode, 1)
        for node, why in (
            ("broken", "unable to upgrade connection"),
            ("mad", "the answer makes no sense"),
            ("odd", "the answer makes no sense"),
            ("pending", "its scheduler's pod is Pending"),
        ):
            self.assertIn([node, "-", "no", "answer", "-", "-", "-", "-"], self.rows(done))
            self.assertIn(f"kubectl nvshare: node {node}: {why}\n", done.stderr)
        # And the others all the same.
        self.assertIn("train-0", done.stdout)

    def test_node_that_hangs(self):
        self.two_nodes()
        self.node("hung", {"gpus": [], "tenants": []}, sleep=120)
        done = self.run_it("status", "--timeout", "20")
        self.assertEqual(done.returncode, 1)
        self.assertIn("node hung: no answer within 20 seconds", done.stderr)
        self.assertIn("train-0", done.stdout)

    def test_pod_that_is_replaced(self):
        self.two_nodes()
        old = scheduler("a", deletionTimestamp="2026-01-01T00:00:00Z")
        old["metadata"]["name"] = "old"
        self.nodes = {"old": old, **self.nodes, "older": old}
        self.assertEqual(self.run_it("status").returncode, 0)

    def test_no_nodes(self):
        done = self.run_it("status")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no node has an nvshare-scheduler", done.stderr)

    def test_kubectl_fails(self):
        self.answer("get", error="Unable to connect to the server: no route to host\n", code=1)
        done = self.run_it("status")
        self.assertEqual(done.returncode, 1)
        self.assertIn("kubectl nvshare: Unable to connect to the server", done.stderr)

    def test_no_kubectl(self):
        done = self.run_it("status", KUBECTL="/nonexistent/kubectl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("kubectl cannot be started", done.stderr)

    def test_names_cannot_write_to_the_terminal(self):
        tenants = [tenant(1, "x", "\033]0;y\a")]
        self.node("a", {"gpus": [gpu(0, name="\033[31m")], "tenants": tenants})
        done = self.run_it("status")
        self.assertNotIn("\033", done.stdout)
        self.assertIn("?]0;y?", done.stdout)


class Top(Plugin):
    def test_most_first(self):
        self.two_nodes()
        rows = self.rows(self.run_it("top"))
        self.assertEqual(rows[1][:6], ["a", "web", "serve", "0", "75.0", "50.0"])
        self.assertEqual(rows[1][6:], ["-", "2.0GiB", "-", "waiting"])
        self.assertEqual(rows[2][2:5], ["train-0", "0", "25.0"])

    def test_other_order(self):
        self.node("a", {"gpus": [gpu(0)], "tenants": [
            tenant(1, "x", "small", [use(memory_bytes=GIB)]),
            tenant(2, "x", "large", [use(memory_bytes=9 * GIB, share_10s=None)]),
        ]})
        rows = self.rows(self.run_it("top", "--sort", "memory"))
        self.assertEqual([row[2] for row in rows[1:]], ["large", "small"])
        self.assertEqual(rows[1][4], "-")

    def test_live(self):
        self.two_nodes()
        self.answer("exec", "--stdin", "--tty", "nvshare-scheduler-a", "nvsharectl", "top",
                    output="the live view\n", code=5)
        done = self.run_it("top", "a")
        self.assertEqual((done.returncode, done.stdout), (5, "the live view\n"))
        self.assertEqual(self.run_it("top", "z").returncode, 3)

    def test_silent_node(self):
        self.node("a", error="gone", code=1)
        done = self.run_it("top")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No tenants.", done.stdout)


class Manifest(unittest.TestCase):
    def test_usage_begins_as_it_is_called(self):
        words = [sys.executable, "-B", SCRIPT, "--help"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        self.assertTrue(done.stdout.startswith("usage: kubectl nvshare"))


if __name__ == "__main__":
    unittest.main()
