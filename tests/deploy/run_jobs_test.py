#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The script that runs example jobs, in front of a kubectl that is a script. Logs are real ones, of
a workload on the simulator.

usage: run_jobs_test.py NVSHARE_WORKLOAD SIMULATOR [UNITTEST_ARGUMENT...]
"""

import os
import subprocess
import sys
import tempfile
import unittest

from cluster_case import ClusterCase
from deploy_case import DEPLOY, api_check, chart

SCRIPT = DEPLOY / "examples/run_jobs.py"
WORKLOAD, SIMULATOR = "", ""


def real_log(*words):
    """What a workload prints."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            **os.environ,
            "NVSHARE_SIM_MACHINE": f"run_jobs_test_{os.getpid()}",
            "NVSHARE_SIM_TIME": "0.1",
            "TMPDIR": folder,
        }
        return subprocess.run(
            [WORKLOAD, "add-small", "--driver", SIMULATOR, *words],
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        ).stdout


def job(name, condition):
    conditions = [{"type": condition, "status": "True"}] if condition else []
    return {"metadata": {"name": name}, "status": {"conditions": conditions}}


def pod(name, node="gpu-node", **status):
    return {
        "metadata": {"name": f"{name}-x", "labels": {"job-name": name}},
        "spec": {"nodeName": node},
        "status": status,
    }


class RunJobs(ClusterCase):
    @classmethod
    def setUpClass(cls):
        cls.log = real_log("--iterations", "3", "--progress", "none")
        cls.failed_log = real_log("--size", "900G")

    def jobs(self, *names, **conditions):
        """Jobs that end as said, Complete where nothing is said."""
        for name in names:
            self.answer("create", "-f", "-", output=f"job.batch/{name}\n", once=True)
        ended = [job(name, conditions.get(name, "Complete")) for name in names]
        self.answer("get", "jobs", output={"items": ended} if len(names) > 1 else ended[0])
        self.answer("delete", "jobs")

    def pods(self, *pods):
        self.answer("get", "pods", output={"items": list(pods)})

    def run_it(self, *words):
        return self.run_script(SCRIPT, *words)

    def test_table(self):
        self.jobs("a", "b", "c")
        self.pods(pod("a"), pod("b", "other-node"), pod("c"))
        self.answer("logs", "job/a", output=(
            "add: 12 GiB on GPU 0 (NVIDIA H200, GPU-0123abcd-ff, sizes divided by 64), 9 s\n"
            "add: PASS  10.0 s  300 iterations  30.0 it/s  checked in 0.02 s\n"))
        self.answer("logs", "job/b", output=(
            "add: 12 GiB on GPU 0 (NVIDIA H200, GPU-89abcdef-ff), 9 s\n"
            "add: PASS  20.0 s  300 iterations  15.0 it/s  checked in 0.02 s\n"))
        last = "add: PASS  12.0 s  300 iterations  25.0 it/s  checked\n"
        self.answer("logs", "job/c", output=last)
        done = self.run_it("add=2", "add-small")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, """\
tenant   node        GPU           result  seconds  it/s
-------  ----------  ------------  ------  -------  ----
a        gpu-node    GPU-0123abcd  PASS       10.0  30.0
b        other-node  GPU-89abcdef  PASS       20.0  15.0
c        gpu-node    -             PASS       12.0  25.0
-------  ----------  ------------  ------  -------  ----
min                                           10.0  15.0
max                                           20.0  30.0
average                                       14.0  23.3
""")

    def test_what_a_workload_really_prints(self):
        self.jobs("a")
        self.pods(pod("a"))
        self.answer("logs", "job/a", output=self.log)
        done = self.run_it("add-small")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"a +gpu-node +GPU-[0-9a-f]{8} +PASS +\d+\.\d +\d+\.\d")

    def test_failures_are_not_averaged(self):
        self.jobs("a", "b", "c", "d", b="Failed", c="Failed", d=None)
        killed = {"state": {"terminated": {"reason": "OOMKilled"}}}
        self.pods(pod("a"), pod("b"), pod("c", containerStatuses=[killed]))
        self.answer("logs", "job/a", output="x: PASS  10.0 s  1 iterations  5.0 it/s  checked\n")
        self.answer("logs", "job/b", output=self.failed_log)
        self.answer("logs", "job/c", output="")
        done = self.run_it("add=4", "--timeout", "0")
        self.assertEqual(done.returncode, 1)
        results = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([row[3] for row in results[2:6]], ["PASS", "FAIL", "FAIL", "FAIL"])
        self.assertIn(["average", "10.0", "5.0"], results)
        self.assertRegex(done.stdout, r"b failed: cuMem")
        self.assertIn("c failed: OOMKilled", done.stdout)
        self.assertIn("d failed: it has not ended", done.stdout)

    def test_pass_that_the_job_does_not_confirm_is_none(self):
        self.jobs("a", a="Failed")
        self.pods(pod("a", reason="Evicted", message="the node was low on memory"))
        self.answer("logs", "job/a", output="x: PASS  10.0 s  1 iterations  5.0 it/s  checked\n")
        done = self.run_it("add")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a failed: Evicted the node was low on memory", done.stdout)
        self.assertRegex(done.stdout, r"average +- +-")

    def test_it_waits(self):
        self.answer("create", output="job.batch/a\n")
        self.answer("get", "jobs", output=job("a", None), once=True)
        self.answer("get", "jobs", output=job("a", "Complete"))
        self.answer("delete", "jobs")
        self.pods(pod("a"))
        self.answer("logs", "job/a", output=self.log)
        self.assertEqual(self.run_it("add", "--poll", "0.01").returncode, 0)
        self.assertEqual(len(self.asked("get", "jobs")), 2)

    def test_what_is_made(self):
        self.jobs("a", "b")
        self.pods()
        changes = ["--image", "r/w:1", "--resource", "nvidia.com/gpu", "--runtime-class", "nvidia"]
        changes += ["--", "--seconds", "30"]
        self.run_it("add", "add-idle", "-n", "gpu", *changes)
        creates = [call for call in self.calls() if call["words"][0] == "create"]
        self.assertEqual(creates[0]["words"][-2:], ["--namespace", "gpu"])
        for call, name in zip(creates, ("add", "add-idle")):
            (manifest,) = chart.load_documents(call["stdin"])
            self.assertEqual(api_check.problems(manifest), [])
            spec = manifest["spec"]["template"]["spec"]
            self.assertEqual(spec["runtimeClassName"], "nvidia")
            (container,) = spec["containers"]
            self.assertEqual(container["image"], "r/w:1")
            self.assertEqual(container["args"], [name, "--seconds", "30"])
            self.assertEqual(container["resources"]["limits"], {"nvidia.com/gpu": 1})

    def test_jobs_are_deleted_whatever_happens(self):
        self.answer("create", output="job.batch/a\n", once=True)
        self.answer("create", error="exceeded quota", code=1)
        self.answer("delete", "jobs")
        done = self.run_it("add=2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("exceeded quota", done.stderr)
        self.assertEqual(self.asked("delete"), [["delete", "jobs", "a", "--wait=false"]])

    def test_or_kept(self):
        self.jobs("a")
        self.pods()
        self.run_it("add", "--keep")
        self.assertEqual(self.asked("delete"), [])

    def test_wrong_command_lines(self):
        for words in ([], ["nosuch"], ["add=0"], ["add=x"], ["add", "--timeout", "long"]):
            done = self.run_it(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        self.assertIn("use add, add-idle, add-small", self.run_it("nosuch").stderr)
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    WORKLOAD, SIMULATOR = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
