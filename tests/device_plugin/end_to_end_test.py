#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a pod's request to its share of a GPU, on one machine without a cluster: kubelet, plugin,
containers, the library in them, workloads on simulated GPUs, daemon, API server.

usage: end_to_end_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import itertools
import json
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import unittest

import container
from plugin_case import BUILD, GPU, PATIENCE_S, PluginCase, environment

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src" / "daemon"))

# pylint: disable=wrong-import-position
from admin_ask import ask_admin  # noqa: E402
from fake_api_server import FakeApiServer  # noqa: E402
from pod_group import PodGroup  # noqa: E402

UIDS = {
    "train": "0a1b2c3d-1111-2222-3333-444455556666",
    "serve": "99999999-1111-2222-3333-444455556666",
}
OWN_LIBRARY = "libresolv.so.2"  # of a pod; every machine has it, and no workload needs it
NUMBERS = itertools.count()
WORKLOAD = BUILD / "bin/nvshare-workload"


class EndToEnd:
    """Whatever way containers get the library by."""

    gpus = 1
    injection = None

    def setUp(self):
        if reason := container.missing():
            self.skipTest(f"no containers can be made here: {reason}")
        try:
            PodGroup(UIDS["train"]).remove()
        except OSError as error:
            self.skipTest(f"this machine lets us make no control group: {error}")
        super().setUp()
        self.library = BUILD / "lib/libnvshare.so"
        self.variables |= {"NVSHARE_SIM_SCALE": "512", "NVSHARE_SIM_PRESET": "t4"}
        self.kubelet.space = "lab"
        self.server = FakeApiServer().start()
        self.addCleanup(self.stop_server)
        self.log = open(self.folder / "daemon.log", "w+b")
        self.addCleanup(self.log.close)
        self.daemon = None
        self.start_daemon()

    def stop_server(self):
        self.server.stop()
        self.assertEqual(self.server.violations, [])

    def start_daemon(self):
        url = f"http://127.0.0.1:{self.server.port}"
        words = ["--kube-api", url, "--node-name", self.server.node, "--core-limit", "80"]
        self.daemon = subprocess.Popen(
            [BUILD / "bin/nvshare-scheduler", "--folder", self.folder / "run", *words],
            env=environment(**self.variables),
            stderr=self.log,
        )
        self.addCleanup(self.kill, self.daemon)
        self.wait_until(self.is_served, "the daemon's sockets")

    def is_served(self):
        """A daemon that was killed leaves the files of its sockets."""
        for name in ("plugin/plugin.sock", "admin.sock"):
            with socket.socket(socket.AF_UNIX) as visitor:
                if visitor.connect_ex(str(self.folder / "run" / name)) != 0:
                    return False
        return True

    @staticmethod
    def kill(process):
        process.kill()
        process.wait(PATIENCE_S)
        if process.stdout is not None:
            process.stdout.close()

    def admit(self, pod, **more):
        """What the kubelet has a runtime make a container of."""
        return self.kubelet.admit(pod, nvshare_com__gpu=1, **more)[GPU]

    def start_plugin(self, *arguments):
        return self.start("--injection", self.injection, *arguments)

    def run_pod(self, pod, answer, **own):
        """A workload in a container of the pod, until it is killed; `own` is of the pod's spec."""
        group = PodGroup(UIDS[pod])
        self.addCleanup(group.remove)
        visible = {"CUDA_VISIBLE_DEVICES": answer.envs["NVIDIA_VISIBLE_DEVICES"]}
        process = container.start(
            self.folder / f"container-{next(NUMBERS)}",
            group,
            answer,
            self.folder / "cdi",
            [WORKLOAD, "add-small", "--driver", BUILD / "lib/sim/libcuda.so.1", "--seconds", 600],
            environment(**self.variables, **visible, **own),
            shared=[BUILD],
        )
        self.addCleanup(self.kill, process)
        return process

    @staticmethod
    def libraries(process):
        """The names of the files that it has mapped."""
        lines = pathlib.Path(f"/proc/{process.pid}/maps").read_text("utf-8").splitlines()
        return {pathlib.Path(line.split(maxsplit=5)[-1]).name for line in lines}

    def status(self):
        answer = ask_admin(self.folder / "run", PATIENCE_S, command="status")
        self.assertTrue(answer["ok"], answer)
        return answer["result"]

    def wait_for_tenant(self, **wanted):
        """The first tenant of which all of this is so: name, standing, cap that is in force."""

        def found():
            for tenant in self.status()["tenants"]:
                for use in tenant["gpus"]:
                    has = {
                        "name": tenant["name"],
                        "standing": tenant["kubernetes"]["standing"],
                        "cap": use["cap_in_force_percent"],
                        "runs": use["windows"] > 0,
                    }
                    if all(has[key] == value for key, value in wanted.items()):
                        return tenant
            return None

        try:
            return self.wait_until(found, str(wanted))
        except AssertionError as error:
            self.log.seek(0)
            status = json.dumps(self.status(), indent=1)
            raise AssertionError(f"{error}\n{status}\n{self.log.read().decode()}") from None

    def test_a_pod_has_what_its_annotations_say(self):
        self.server.put("train", uid=UIDS["train"], gpu_core_limit="30", gpu_memory_limit="6Gi")
        plugin = self.start_plugin()
        answer = self.admit("train")
        process = self.run_pod("train", answer)
        tenant = self.wait_for_tenant(name="lab/train", standing="verified", cap=30, runs=True)
        self.assertEqual(tenant["limits"]["memory"], {"value": "6Gi", "source": "annotation"})
        self.assertEqual(tenant["kubernetes"]["container"], "main")
        self.server.put("train", gpu_core_limit="60", gpu_memory_limit="6Gi")
        self.wait_for_tenant(name="lab/train", cap=60)
        self.server.put("train")
        self.wait_for_tenant(name="lab/train", cap=80)  # the node's default
        # It runs on, and is known, whatever restarts.
        plugin.end()
        self.start_plugin()
        self.kubelet.restart()
        self.server.put("train", gpu_core_limit="20")
        self.wait_for_tenant(name="lab/train", standing="verified", cap=20)
        self.daemon.terminate()
        self.assertEqual(self.daemon.wait(PATIENCE_S), 0)
        self.start_daemon()
        self.wait_for_tenant(name="lab/train", standing="verified", cap=20, runs=True)
        self.assertIsNone(process.poll())
        # Its container is restarted with what the kubelet was told when it was new.
        self.kill(process)
        self.wait_until(lambda: not self.status()["tenants"], "the end of the first one")
        self.run_pod("train", answer)
        self.wait_for_tenant(name="lab/train", standing="verified", cap=20, runs=True)

    def test_a_changed_annotation_is_in_force_within_300_ms(self):
        """Half of ten: a machine that has much to do may be late, and not always. Each change is
        made when the one before is in force, so that whoever only looked from time to time would
        be late by all of that time, every time."""
        self.server.put("train", uid=UIDS["train"], gpu_core_limit="30")
        self.start_plugin()
        self.run_pod("train", self.admit("train"))
        self.wait_for_tenant(name="lab/train", standing="verified", cap=30, runs=True)
        delays_s = []
        for cap in range(41, 51):
            before = time.monotonic()
            self.server.put("train", gpu_core_limit=str(cap))
            self.wait_for_tenant(name="lab/train", cap=cap)
            delays_s.append(time.monotonic() - before)
        self.assertLess(statistics.median(delays_s), 0.3, delays_s)

    def test_a_daemon_that_comes_is_told_at_once_who_has_what(self):
        self.server.put("train", uid=UIDS["train"], gpu_core_limit="30")
        self.start("--poll", 60)
        process = self.run_pod("train", self.admit("train"))
        self.wait_for_tenant(name="lab/train", standing="verified", cap=30)
        lists = self.kubelet.lists

        def restart_daemon(number, folder):
            self.daemon.send_signal(number)
            self.daemon.wait(PATIENCE_S)
            folder()
            self.start_daemon()
            self.wait_for_tenant(name="lab/train", standing="verified", cap=30, runs=True)

        for number in (signal.SIGTERM, signal.SIGKILL):
            restart_daemon(number, lambda: None)
        # Its folder goes with it, as when somebody cleans up.
        restart_daemon(signal.SIGTERM, lambda: shutil.rmtree(self.folder / "run/plugin"))
        self.assertIsNone(process.poll())
        # The plugin asks the kubelet whenever it asks the daemon without a reason.
        self.assertEqual(self.kubelet.lists, lists, "it was the next poll that told")

    def test_a_pod_has_what_it_asked_for_whatever_its_environment_says(self):
        self.server.put("train", uid=UIDS["train"])
        self.start_plugin("--cores")
        self.wait_until(lambda: self.kubelet.allocatable("nvshare.com/gpu-core") == 100, "cores")
        answer = self.admit("train", nvshare_com__gpu_core=40)
        self.run_pod("train", answer, NVSHARE_GPU_CORE_LIMIT="90")
        tenant = self.wait_for_tenant(standing="verified", cap=40, runs=True)
        self.assertEqual(tenant["limits"]["cores"], {"value": "40", "source": "resource"})

    def test_who_takes_anothers_slot_gets_the_nodes_default(self):
        self.server.put("train", uid=UIDS["train"], gpu_core_limit="10")
        self.server.put("serve", uid=UIDS["serve"], gpu_core_limit="100")
        self.start_plugin()
        answer = self.admit("train")
        # A container of a pod that was given nothing, with what the other one was given.
        self.run_pod("serve", answer)
        self.wait_for_tenant(standing="unverified", cap=80, runs=True)


class PreloadFile(EndToEnd):
    """/etc/ld.so.preload is mounted: a preload of the pod's own is beside ours."""

    def test_a_pod_may_have_a_preload_of_its_own(self):
        self.server.put("train", uid=UIDS["train"], gpu_core_limit="30")
        self.start_plugin()
        process = self.run_pod("train", self.admit("train"), LD_PRELOAD=OWN_LIBRARY)
        self.wait_for_tenant(name="lab/train", standing="verified", cap=30, runs=True)
        self.assertLessEqual({"libnvshare.so", OWN_LIBRARY}, self.libraries(process))


class LdSoPreload(PreloadFile, PluginCase):
    injection = "ld-so-preload"


class CdiCri(PreloadFile, PluginCase):
    injection = "cdi-cri"

    def test_what_a_container_has_of_us_is_from_the_file(self):
        self.start_plugin()
        answer = self.admit("train")
        self.assertEqual(list(answer.mounts), [])
        self.assertEqual(set(answer.envs), {"NVIDIA_VISIBLE_DEVICES", "NVSHARE_SLOT"})
        process = self.run_pod("train", answer, NVSHARE_CDI="the pod's")
        self.wait_for_tenant(runs=True)
        variables = pathlib.Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
        self.assertIn(b"NVSHARE_CDI=1", variables)
        (self.folder / "cdi/nvshare.com-gpu.json").unlink()
        with self.assertRaisesRegex(AssertionError, "unresolvable CDI device nvshare.com/gpu=GPU"):
            self.run_pod("train", answer)


class Env(EndToEnd, PluginCase):
    injection = "env"

    def test_a_pod_with_a_preload_of_its_own_is_not_shared(self):
        self.start_plugin()
        process = self.run_pod("train", self.admit("train"), LD_PRELOAD=OWN_LIBRARY)
        self.wait_until(lambda: "libcuda.so.1" in self.libraries(process), "the driver")
        self.assertIn(OWN_LIBRARY, self.libraries(process))
        self.assertNotIn("libnvshare.so", self.libraries(process))


if __name__ == "__main__":
    unittest.main()
