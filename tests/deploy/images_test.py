#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The images, built and run as the chart says, by podman in place of a cluster: on a node with no
GPU, and on one with a simulated GPU that two pods share until all is uninstalled. It takes some
minutes and root, so it is for who asks for it; tools/install_packages.sh build plugin test images.

usage: NVSHARE_IMAGES=1 images_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

if not os.environ.get("NVSHARE_IMAGES"):
    print("skipped: NVSHARE_IMAGES is not set")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "kube"), str(BUILD / "src/device_plugin/proto")]

import device_plugin_pb2  # noqa: E402: after the path
import pod_resources_pb2  # noqa: E402
from authority import Authority  # noqa: E402
from deploy_case import CHART, ROOT, chart, pod_of  # noqa: E402
from fake_api_server import FakeApiServer  # noqa: E402
from fake_kubelet import FakeKubelet  # noqa: E402
from podman_node import PATIENCE_S, Node  # noqa: E402

IMAGES = (BUILD / "images").resolve()
BASE = "docker.io/library/debian:12-slim"
TAG = chart.load_yaml((CHART / "Chart.yaml").read_text("utf-8"))["appVersion"]
GPU = "nvshare.com/gpu"
GROUP = "nvshare-images"  # podman leaves the cgroups above those of its containers
UIDS = {
    "train": "0a1b2c3d-1111-2222-3333-444455556666",
    "serve": "99999999-1111-2222-3333-444455556666",
}
FILES = {
    "scheduler": {"usr/bin/nvshare-scheduler", "usr/bin/nvsharectl"},
    "device-plugin": {"usr/bin/nvshare-device-plugin", "usr/lib/nvshare/libnvshare.so"},
    "workload": {"usr/bin/nvshare-workload"},
}
# Where packages put their files, and what a build leaves of its own network.
OF_PACKAGES = ("usr/lib/x86_64-linux-gnu/", "usr/share/", "var/", "etc/")


class Images(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([ROOT / "tools/build_images.sh", IMAGES], check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nvs-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.node = Node(IMAGES, self.folder / "node", None)
        self.node.token.mkdir()
        groups = ["find", "/sys/fs/cgroup", "-path", f"*/{GROUP}*", "-type", "d", "-delete"]
        self.addCleanup(subprocess.run, groups, check=True)
        self.addCleanup(self.node.remove_all)
        kubelet = self.node.folder / "var/lib/kubelet"
        self.kubelet = FakeKubelet(kubelet, "1.37", device_plugin_pb2, pod_resources_pb2)
        self.kubelet.space = "lab"
        self.kubelet.start()
        self.kubelet.age()
        self.addCleanup(self.kubelet.stop)
        manifests = chart.Chart(CHART).manifests({"nodeLabels": "nfd"})
        self.pods = {
            one["metadata"]["name"].removeprefix("nvshare-"): pod_of(one)
            for one in manifests
            if one["kind"] == "DaemonSet"
        }

    def start(self, name, kind="containers"):
        pod = self.pods[name]
        self.node.start_container(pod, pod[kind][0])
        return pod[kind][0]

    def wait_until(self, condition, what):
        deadline = time.monotonic() + PATIENCE_S
        while not (found := condition()):
            if time.monotonic() > deadline:
                names = self.node.podman("ps", "--all", "--format={{.Names}}")[0].split()
                logs = "\n".join(f"-- {name}\n{self.node.log(name)}" for name in names)
                self.fail(f"waited for {what}\n{logs}")
            time.sleep(0.1)
        return found

    def wait_for_probe(self, container):
        probe = container["readinessProbe"]
        if "exec" in probe:
            words = ["exec", container["name"], *probe["exec"]["command"]]
            self.wait_until(lambda: self.node.podman(*words, check=False)[1] == 0, words)
        else:
            port = container["ports"][0]["containerPort"]
            url = f"http://127.0.0.1:{port}{probe['httpGet']['path']}"
            self.wait_until(lambda: self.is_answered(url), url)

    @staticmethod
    def is_answered(url):
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status == 200
        return False

    def files_of(self, image):
        root = pathlib.Path(self.node.podman("image", "mount", image)[0].strip())
        found = {os.path.join(top, name) for top, _, names in os.walk(root) for name in names}
        self.node.podman("image", "unmount", image)
        return {os.path.relpath(path, root) for path in found}

    def test_each_has_what_it_runs_and_nothing_else(self):
        base = self.files_of(BASE)
        for name, files in FILES.items():
            image = f"nvshare-{name}:{TAG}"
            new = self.files_of(image) - base
            rest = {file for file in new - files if not file.startswith(OF_PACKAGES)}
            self.assertEqual((files - new, rest), (set(), set()))
            size = json.loads(self.node.podman("inspect", image)[0])[0]["Size"]
            print(f"{image}: {size / 1e6:.1f} MB", flush=True)
            for file in sorted(files):
                words = "ldd /$0; case $0 in usr/bin/*) /$0 --version && /$0 --help; esac"
                flags = ["--rm", "--pull=never", *self.node.limits, "--entrypoint=sh"]
                text, _ = self.node.podman("run", *flags, image, "-c", words, file)
                self.assertNotIn("not found", text)

    def test_a_node_without_a_gpu_says_so(self):
        self.wait_for_probe(self.start("scheduler"))
        self.assertIn("NVML is not usable", self.node.log("scheduler"))
        self.start("device-plugin")
        self.assertEqual(self.node.exit_code("device-plugin"), 1)
        self.assertIn("runtimeClassName", self.node.log("device-plugin"))
        self.assertEqual(self.node.stop("scheduler"), 0)

    def test_pods_share_a_gpu_until_all_is_uninstalled(self):
        (self.node.folder / "var/run").mkdir()
        before = self.files_of_host()
        self.simulate_gpu()
        self.serve_api()
        self.wait_for_probe(self.start("scheduler"))
        self.wait_for_probe(self.start("device-plugin"))
        self.wait_until(lambda: self.kubelet.allocatable(GPU) == 10, "ten devices")
        for pod in UIDS:
            self.run_workload(pod)
        both = {f"lab/{pod}": {"value": "60", "source": "annotation"} for pod in UIDS}
        self.wait_until(lambda: self.core_limits() == both, "both tenants")
        for pod in UIDS:
            self.assertEqual(self.node.exit_code(pod), 0, self.node.log(pod))
            self.assertIn("PASS", self.node.log(pod))
            self.kubelet.end(pod)
        for name in ("scheduler", "device-plugin"):
            self.assertEqual(self.node.stop(name), 0, self.node.log(name))
        self.start("cleanup", "initContainers")
        self.assertEqual(self.node.exit_code("cleanup"), 0, self.node.log("cleanup"))
        self.assertEqual(self.files_of_host(), before)
        self.assertEqual(self.kubelet.violations + self.server.violations, [])

    def simulate_gpu(self):
        """All processes of a simulated machine meet in a segment of memory."""
        self.node.driver = BUILD / "lib/sim"
        machine = f"images-{os.getpid()}"
        variables = {"MACHINE": machine, "SCALE": "512", "PRESET": "t4"}
        self.node.extra = [f"--env=NVSHARE_SIM_{name}={text}" for name, text in variables.items()]
        self.node.extra.append("--volume=/dev/shm:/dev/shm")
        segment = pathlib.Path(f"/dev/shm/nvshare-sim-{os.getuid()}-{machine}")
        self.addCleanup(segment.unlink, missing_ok=True)

    def serve_api(self):
        """With certificates, for which the image needs libcurl and what libcurl needs."""
        authority = Authority(self.folder, "ca")
        self.server = FakeApiServer(self.node.name, authority.server("IP:127.0.0.1")).start()
        self.addCleanup(self.server.stop)
        (self.node.token / "token").write_text("secret", "ascii")
        (self.node.token / "ca.crt").write_bytes(authority.certificate.read_bytes())
        self.server.tokens.add("secret")
        place = {"HOST": "127.0.0.1", "PORT": self.server.port}
        self.node.extra += [f"--env=KUBERNETES_SERVICE_{key}={one}" for key, one in place.items()]

    def run_workload(self, pod):
        """Its container has what the kubelet was told, and the GPU that NVIDIA's runtime gives."""
        answer = self.kubelet.admit(pod, nvshare_com__gpu=1)[GPU]
        flags = [f"--env={name}={value}" for name, value in answer.envs.items()]
        flags.append(f"--env=CUDA_VISIBLE_DEVICES={answer.envs['NVIDIA_VISIBLE_DEVICES']}")
        for one in answer.mounts:
            flags.append(f"--volume={self.node.folder}{one.host_path}:{one.container_path}:ro")
        flags += self.node.runtime("compute,utility")
        self.server.put(pod, uid=UIDS[pod], gpu_core_limit="60")
        flags.append(f"--cgroup-parent=/{GROUP}/kubepods/pod{UIDS[pod]}")
        words = ["add-small", "--seconds", "10"]
        self.node.start(pod, f"nvshare-workload:{TAG}", words, *flags)

    def core_limits(self):
        words = ["exec", "scheduler", "nvsharectl", "status", "--output", "json"]
        tenants = json.loads(self.node.podman(*words)[0])["tenants"]
        return {tenant["name"]: tenant["limits"]["cores"] for tenant in tenants}

    def files_of_host(self):
        """And folders, but for one that is Node Feature Discovery's."""
        return sorted(self.node.folder.rglob("var/**/*"))


if __name__ == "__main__":
    unittest.main()
