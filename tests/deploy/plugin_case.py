# SPDX-License-Identifier: Apache-2.0
"""Clusters for the tests of kubectl nvshare: nodes with schedulers that say something."""

from cluster_case import ClusterCase
from deploy_case import DEPLOY

SCRIPT = DEPLOY / "kubectl/kubectl-nvshare"
GIB = 1 << 30


def scheduler(node, phase="Running", **more):
    name = f"nvshare-scheduler-{node}"
    return {
        "metadata": {"name": name, "namespace": "nvshare-system", **more},
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


def gpu(index, **more):
    return {
        "index": index,
        "uuid": f"GPU-{index}",
        "name": "NVIDIA H200",
        "memory_bytes": 140 * GIB,
        "mode": "auto",
        "window_ms": 40.0,
        "turn_s": None,
        "holder": None,
        "waiting": 0,
        "switches": 7,
        **more,
    }


def use(index=0, **more):
    return {
        "gpu": index,
        "state": "running",
        "used_s": 12.34,
        "waited_s": 0.5,
        "waiting_now_s": 0.0,
        "longest_wait_s": 0.02,
        "memory_bytes": 2 * GIB,
        "swapped_bytes": 0,
        "memory_limit_bytes": None,
        "cap_percent": None,
        "cap_in_force_percent": None,
        "share_10s": 0.25,
        "share_60s": 0.5,
        **more,
    }


def tenant(number, space, pod, uses=None, **more):
    return {
        "id": number,
        "name": f"{space}/{pod}",
        "pod": pod,
        "namespace": space,
        "container": "main",
        "priority": "normal",
        "gpus": [use()] if uses is None else uses,
        **more,
    }


class Plugin(ClusterCase):
    def setUp(self):
        super().setUp()
        self.nodes = {}

    def node(self, name, status=None, pod=None, **how):
        self.nodes[name] = pod or scheduler(name)
        words = ("exec", f"nvshare-scheduler-{name}", "nvsharectl", "status", "-o", "json")
        if status is not None:
            how["output"] = status
        self.answer(*words, **how)

    def two_nodes(self):
        train = use(cap_percent=75, cap_in_force_percent=50, memory_limit_bytes=4 * GIB)
        self.node("a", {
            "gpus": [gpu(0, holder=1, waiting=1), gpu(1, turn_s=30.0, mode="serial")],
            "tenants": [
                tenant(1, "ml", "train-0", [train]),
                tenant(2, "web", "serve", [use(state="waiting", share_10s=0.75), use(1)]),
            ],
        })
        self.node("b", {
            "gpus": [gpu(0)],
            "tenants": [tenant(1, "ml", "train-1", []), tenant(2, None, None, name="bash")],
        })

    def run_it(self, *words, **variables):
        self.answer("get", "pods", "--selector", output={
            "metadata": {},
            "items": list(self.nodes.values()),
        })
        return self.run_script(SCRIPT, *words, **variables)

    def rows(self, done):
        return [line.split() for line in done.stdout.splitlines()]

    def execs(self):
        return [call[call.index("--") + 1 :] for call in self.asked("exec")]
