#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon in Kubernetes: an API server whose pods are annotated, a device plugin that says who
has which slot, and tenants in cgroups like those of the kubelet.

usage: pods_test.py NVSHARE_SCHEDULER [UNITTEST_ARGUMENT...]
"""

import json
import os
import pathlib
import signal
import socket
import sys
import time
import unittest

from daemon_case import GPU, DaemonCase
from wire_client import PATIENCE_S, Client

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"))

# pylint: disable=wrong-import-position
from fake_api_server import FakeApiServer  # noqa: E402
from pod_group import PodGroup  # noqa: E402

UID = "0a1b2c3d-1111-2222-3333-444455556666"
SLOT = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10::3"


class PodsCase(DaemonCase):
    uid = UID  # in the cgroup of the pod

    def setUp(self):
        super().setUp()
        try:
            self.group = PodGroup(self.uid)
        except OSError as error:
            self.skipTest(f"this machine lets us make no control group: {error}")
        self.addCleanup(self.group.remove)
        self.processes = []
        self.addCleanup(self.kill_all)
        self.server = FakeApiServer()
        self.addCleanup(self.stop_server)

    def stop_server(self):
        self.server.stop()
        self.assertEqual(self.server.violations, [])

    def start_in_cluster(self, *arguments):
        url = f"http://127.0.0.1:{self.server.port}"
        self.start("--kube-api", url, "--node-name", self.server.node, *arguments)

    def in_pod(self, action):
        """A process in the pod does this, says so, and waits to be killed."""
        ready, said = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self.group.add(os.getpid())
                answer = action()
                os.write(said, json.dumps(answer).encode() + b"\n")
                signal.pause()
            finally:
                os._exit(1)
        os.close(said)
        self.processes.append(pid)
        with os.fdopen(ready) as lines:
            line = lines.readline()
        self.assertTrue(line, "the process in the pod failed")
        return json.loads(line)

    def kill_all(self):
        """All that were started in the pod."""
        while self.processes:
            pid = self.processes.pop()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def tenant_in_pod(self, slot=SLOT, **fields):
        def action():
            self.client = Client(self.folder)  # held until the process ends
            self.client.join(0, program=b"train.py", slot=slot.encode(), **fields)
            self.client.use(GPU)

        self.in_pod(action)

    def say_slots(self, **request):
        """As the device plugin does."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as plugin:
            plugin.settimeout(PATIENCE_S)
            plugin.connect(str(self.folder / "plugin" / "plugin.sock"))
            plugin.sendall(json.dumps({"command": "slots", **request}).encode() + b"\n")
            with plugin.makefile() as lines:
                answer = json.loads(lines.readline())
        self.assertTrue(answer["ok"], answer)

    def give_slot(self, pod="train", slot=SLOT):
        use = {"slot": slot, "namespace": "lab", "pod": pod, "container": "main"}
        self.say_slots(begins=True, used=[use], ends=True)

    def wait_for(self, condition):
        """The first status of which it is true."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            status = self.ask(command="status")
            if condition(status):
                return status
            self.assertLess(time.monotonic(), deadline, json.dumps(status, indent=1))
            time.sleep(0.005)

    def wait_for_cores(self, value, source):
        wanted = {"value": value, "source": source}
        return self.wait_for(
            lambda status: any(one["limits"]["cores"] == wanted for one in status["tenants"])
        )


class Annotations(PodsCase):
    def start_tenant_with_30(self):
        self.server.start()
        self.server.put("train", uid=UID, gpu_core_limit="30")
        self.start_in_cluster()
        self.give_slot()
        self.tenant_in_pod()
        return self.wait_for_cores("30", "annotation")["tenants"][0]

    def test_a_limit_follows_the_annotation(self):
        tenant = self.start_tenant_with_30()
        self.assertEqual((tenant["name"], tenant["namespace"]), ("lab/train", "lab"))
        self.assertEqual(tenant["kubernetes"]["standing"], "verified")
        self.assertEqual(tenant["kubernetes"]["container"], "main")
        self.server.put("train", gpu_core_limit="60", gpu_memory_limit="4Gi")
        tenant = self.wait_for_cores("60", "annotation")["tenants"][0]
        self.assertEqual(tenant["limits"]["memory"], {"value": "4Gi", "source": "annotation"})
        self.server.put("train")
        tenant = self.wait_for_cores(None, "none")["tenants"][0]
        self.assertEqual(tenant["limits"]["memory"]["value"], None)

    def test_one_that_is_not_understood_changes_nothing(self):
        self.start_tenant_with_30()
        self.server.put("train", gpu_core_limit="a lot")
        status = self.wait_for(lambda status: status["kubernetes"]["bad_annotations"] == 1)
        tenant = status["tenants"][0]
        self.assertEqual(tenant["limits"]["cores"], {"value": "30", "source": "annotation"})
        self.assertIn("a lot", tenant["limit_errors"][0])
        self.daemon.wait_for_log("annotation not understood", "pod=train", "namespace=lab")

    def test_the_last_limits_stay_when_the_server_dies(self):
        self.start_tenant_with_30()
        self.server.stop()
        status = self.wait_for(lambda status: not status["kubernetes"]["reachable"])
        self.assertEqual(status["tenants"][0]["limits"]["cores"]["value"], "30")
        self.assertNotEqual(status["kubernetes"]["last_error"], "")
        self.server.put("train", gpu_core_limit="40")
        self.server.start()
        self.wait_for_cores("40", "annotation")


class Restarts(PodsCase):
    """The daemon is killed while the API server is away: its tenants come back to the next one."""

    def come_back(self):
        self.server.stop()
        self.wait_for(lambda status: not status["kubernetes"]["reachable"])
        self.daemon.end(signal.SIGKILL)
        self.start_in_cluster("--core-limit", "50")
        self.wait_for(lambda status: status["kubernetes"]["reconnects"]["connect"] > 0)
        self.tenant_in_pod(core_limit=b"90")

    def start_tenant(self, limit):
        self.server.start()
        self.server.put("train", uid=UID, gpu_core_limit=limit)
        self.start_in_cluster("--core-limit", "50")
        self.give_slot()
        self.tenant_in_pod()
        self.wait_for_cores(limit, "annotation")

    def test_a_limit_stays_until_the_server_says_otherwise(self):
        self.start_tenant("30")
        self.come_back()
        status = self.wait_for_cores("30", "annotation")
        self.assertEqual(status["kubernetes"]["listed"], False)
        self.assertEqual(status["tenants"][0]["kubernetes"]["standing"], "unverified")
        self.give_slot()
        tenant = self.wait_for_cores("30", "annotation")["tenants"][0]
        self.assertEqual(tenant["kubernetes"]["standing"], "verified")
        self.server.put("train")
        self.server.start()
        self.wait_for_cores("90", "environment")

    def test_one_above_what_the_node_gives_too(self):
        self.start_tenant("70")
        self.come_back()
        self.wait_for_cores("50", "default")
        self.give_slot()
        self.wait_for_cores("70", "annotation")

    def test_a_pod_that_is_gone_is_forgotten(self):
        self.start_tenant("30")
        self.come_back()
        self.server.delete("train")
        self.server.start()
        status = self.wait_for(lambda status: status["kubernetes"]["listed"])
        self.assertEqual(status["tenants"][0]["limits"]["cores"]["value"], "30", "it still runs")
        self.kill_all()
        self.wait_for(lambda status: status["kubernetes"]["pods"] == 0)
        self.tenant_in_pod(core_limit=b"90")
        self.wait_for_cores("50", "default")

    def test_a_file_that_is_torn_is_no_reason_not_to_start(self):
        self.start_tenant("30")
        self.server.stop()
        self.daemon.end(signal.SIGKILL)
        state = self.folder / "state.json"
        self.assertIn(UID, state.read_text("ascii"))
        state.write_text(state.read_text("ascii")[:-20], "ascii")
        self.start_in_cluster("--core-limit", "50")
        self.assertTrue(any("state.json.bad" in line for line in self.daemon.log))
        self.tenant_in_pod()
        self.wait_for_cores("50", "default")


class Identity(PodsCase):
    def test_who_has_anothers_slot_gets_what_the_node_gives(self):
        self.server.start()
        self.server.put("train", uid=UID, gpu_core_limit="90")
        self.start_in_cluster("--core-limit", "20")
        self.give_slot(pod="serve")
        self.tenant_in_pod(core_limit=b"80")
        status = self.wait_for(lambda status: status["kubernetes"]["pods"] == 1)
        tenant = status["tenants"][0]
        self.assertEqual(tenant["kubernetes"]["standing"], "unverified")
        self.assertEqual(tenant["limits"]["cores"], {"value": "20", "source": "default"})
        self.daemon.wait_for_log("tenant not verified", "another pod's")
        self.give_slot()
        self.wait_for_cores("90", "annotation")
        self.say_slots(freed=[SLOT])
        self.wait_for_cores("20", "default")

    def test_nobody_in_a_pod_administers(self):
        self.server.start()
        self.start_in_cluster()

        def ask(name, **request):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
                peer.settimeout(PATIENCE_S)
                peer.connect(str(self.folder / name))
                if request:
                    peer.sendall(json.dumps(request).encode() + b"\n")
                with peer.makefile() as lines:
                    return json.loads(lines.readline())

        admin, plugin, pause = self.in_pod(
            lambda: [
                ask("admin.sock"),  # it is told before it has asked
                ask("plugin/plugin.sock", command="status"),
                ask("plugin/plugin.sock", command="pause", tenant=1),
            ]
        )
        self.assertEqual(admin["code"], "denied")
        self.assertTrue(plugin["ok"], plugin)
        self.assertEqual(pause["code"], "invalid")


class PodsFromFiles(PodsCase):
    uid = "0123456789abcdef0123456789abcdef"

    def start_static(self, **pods):
        """Pods by name, with a limit each, that all say they are pictures of the one in a file."""
        self.server.start()
        for name, limit in pods.items():
            self.server.put(name, mirror=self.uid, gpu_core_limit=limit)
        self.start_in_cluster("--core-limit", "50")
        self.tenant_in_pod()
        self.wait_for(lambda status: status["kubernetes"]["pods"] == len(pods))

    def test_they_are_verified_and_have_their_annotations(self):
        self.start_static(train="70")
        self.give_slot()
        tenant = self.wait_for_cores("70", "annotation")["tenants"][0]
        self.assertEqual(tenant["kubernetes"]["standing"], "verified")
        self.assertEqual(tenant["name"], "lab/train")
        self.server.put("train", gpu_core_limit="60")
        self.wait_for_cores("60", "annotation")

    def test_whoever_makes_up_a_picture_says_nothing_of_them(self):
        self.start_static(a="1", train="70", z="99")
        self.give_slot()
        tenant = self.wait_for_cores("70", "annotation")["tenants"][0]
        self.assertEqual(tenant["name"], "lab/train")

    def test_nor_without_a_real_one(self):
        self.start_static(evil="99")
        self.give_slot()
        status = self.wait_for(lambda status: status["kubernetes"]["slots"] == 1)
        self.assertEqual(status["tenants"][0]["kubernetes"]["standing"], "unverified")
        self.assertEqual(status["tenants"][0]["limits"]["cores"]["value"], "50")


class Slowness(PodsCase):
    def hand_over(self, count):
        """Two tenants take turns at a GPU so often, whatever else goes on."""
        first, second = self.tenant(1), self.tenant(2)
        first.want()
        grant = first.expect_open()
        for _ in range(count):
            second.want()
            first.expect_close(grant)
            first.drained(grant)
            grant = second.expect_open()
            first, second = second, first

    def test_windows_go_on_while_a_server_says_nothing(self):
        for _ in range(8):
            self.server.fault(hang=True)
        self.server.start()
        self.start_in_cluster()
        self.server.wait_for("list", 1)
        self.hand_over(50)
        self.assertEqual(self.ask(command="status")["kubernetes"]["listed"], False)
        self.assertEqual(self.daemon.end(), 0, "and it stops at once")

    def test_and_while_there_is_none(self):
        self.server.start()
        self.server.stop()
        self.start_in_cluster()
        self.wait_for(lambda status: status["kubernetes"]["reconnects"]["connect"] > 0)
        self.hand_over(50)


class Usage(DaemonCase):
    def test_without_kubernetes_nobody_watches(self):
        self.start()
        self.assertIsNone(self.ask(command="status")["kubernetes"])

    def test_a_pod_without_a_node_name_is_told(self):
        daemon = self.start(KUBERNETES_SERVICE_HOST="10.0.0.1", KUBERNETES_SERVICE_PORT="443")
        self.assertTrue(any("annotations of pods are not watched" in one for one in daemon.log))


if __name__ == "__main__":
    unittest.main()
