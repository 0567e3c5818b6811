#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon in Kubernetes: limits by annotation, whatever becomes of the API server.

usage: NVSHARECTL=PROGRAM pods_test.py NVSHARE_SCHEDULER [UNITTEST_ARGUMENT...]
"""

import json
import os
import signal
import socket
import subprocess
import threading
import unittest

from daemon_case import GPU, Daemon, DaemonCase
from hand_overs import HandOvers
from pods_case import SLOT, UID, PodsCase
from wire_client import PATIENCE_S

HAND_OVERS = 400


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
        line = self.daemon.wait_for_log("annotation not understood", "pod=train", "namespace=lab")
        self.assertIn("level=warning", line)
        self.assertIn("nvshare.com/gpu-core-limit", line)
        self.assertIn("'a lot', not a number from 1 to 100", line)

    def test_they_are_counted_for_people_to_see(self):
        self.start_tenant_with_30()
        self.server.put("train", gpu_core_limit="a lot")
        self.wait_for(lambda status: status["tenants"][0]["limit_errors"])
        self.server.put("train", gpu_core_limit="40")
        self.wait_for_cores("40", "annotation")
        self.server.put("train", gpu_core_limit="400", gpu_memory_limit="much")
        self.wait_for(lambda status: len(status["tenants"][0]["limit_errors"]) == 2)
        command = [os.environ["NVSHARECTL"], "--folder", str(self.folder), "status", "-o", "json"]
        done = subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE_S)
        self.assertEqual(json.loads(done.stdout)["kubernetes"]["bad_annotations"], 3)

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
        self.assertEqual(status["tenants"][0]["kubernetes"]["standing"], "verified")
        self.give_slot()
        tenant = self.ask(command="status")["tenants"][0]
        self.assertEqual(tenant["kubernetes"]["standing"], "verified")
        self.server.put("train")
        self.server.start()
        self.wait_for_cores("90", "environment")

    def check_cores_at_first(self, value, source):
        """They are so from the first, not once somebody has told something."""
        tenant = self.ask(command="status")["tenants"][0]
        self.assertEqual(tenant["limits"]["cores"], {"value": value, "source": source})

    def test_one_above_what_the_node_gives_too(self):
        self.start_tenant("70")
        self.come_back()
        self.check_cores_at_first("70", "annotation")
        self.say_slots(begins=True, ends=True)
        self.check_cores_at_first("50", "default")

    def test_what_a_container_asked_for_stays_until_the_plugin_says_otherwise(self):
        self.server.start()
        self.server.put("train", uid=UID)
        self.start_in_cluster("--core-limit", "50")
        self.give_slot(cores=70, memory_bytes=1 << 30)
        self.tenant_in_pod()
        self.wait_for_cores("70", "resource")
        self.come_back()
        self.check_cores_at_first("70", "resource")
        self.give_slot(cores=60)
        self.check_cores_at_first("60", "resource")
        self.say_slots(begins=True, ends=True)
        self.check_cores_at_first("50", "default")

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

    def test_one_that_was_deleted_and_runs_may_come_back_after_the_list(self):
        self.start_tenant("30")
        self.server.delete("train")
        self.daemon.end(signal.SIGKILL)
        self.start_in_cluster("--core-limit", "50")
        self.wait_for(lambda status: status["kubernetes"]["listed"])
        self.tenant_in_pod(core_limit=b"90")
        self.wait_for_cores("30", "annotation")

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


class Slowness(PodsCase):
    """Whoever is slow to answer or to ask holds up no window. Tenants of another daemon, which
    has nothing to do with Kubernetes, take turns at the same time: ours have about as many turns,
    however busy the machine is, and would have none while their daemon waits for somebody."""

    def start_both(self, *arguments):
        self.start_in_cluster("--window", "1ms", *arguments)
        self.alone = self.folder.parent / "alone"
        daemon = Daemon(self.alone, "--window", "1ms")
        self.addCleanup(self.clean, daemon)
        daemon.wait_for_log("ready")

    def hand_overs(self, folder):
        made = HandOvers(folder, GPU)
        self.addCleanup(made.end)
        return made

    def assert_windows_go_on(self):
        ours, others = self.hand_overs(self.folder), self.hand_overs(self.alone)
        ours.start()
        others.go(HAND_OVERS)
        count = ours.count
        self.assertIsNone(ours.error)
        self.assertGreater(count, HAND_OVERS / 2, f"while others had {HAND_OVERS}")
        ours.end()
        others.end()

    def test_while_a_server_says_nothing(self):
        for _ in range(8):
            self.server.fault(hang=True)
        self.server.start()
        self.start_both()
        self.server.wait_for("list", 1)
        self.assert_windows_go_on()
        self.assertEqual(self.ask(command="status")["kubernetes"]["listed"], False)
        self.assertEqual(self.daemon.end(), 0, "and it stops at once")

    def test_while_a_server_is_in_the_middle_of_an_answer(self):
        for kind in ("list", "watch"):
            self.server.fault(kind=kind, cut_body=10, stays=True)
        self.server.put("train")
        self.server.start()
        self.start_both()
        self.server.wait_for("list", 1)
        self.assert_windows_go_on()
        self.assertEqual(self.ask(command="status")["kubernetes"]["listed"], False)

    def test_until_a_server_answers_at_last(self):
        has_time = threading.Event()
        self.addCleanup(has_time.set)
        for kind in ("list", "watch"):
            self.server.fault(kind=kind, before=has_time.wait)
        self.server.put("train", uid=UID, gpu_core_limit="30")
        self.server.start()
        self.start_both()
        self.server.wait_for("list", 1)
        self.assert_windows_go_on()
        self.assertEqual(self.ask(command="status")["kubernetes"]["listed"], False)
        has_time.set()
        self.give_slot()
        self.tenant_in_pod()
        self.wait_for_cores("30", "annotation")

    def test_while_there_is_no_server(self):
        self.server.start()
        self.server.stop()
        self.start_both()
        self.wait_for(lambda status: status["kubernetes"]["reconnects"]["connect"] > 0)
        self.assert_windows_go_on()

    def test_while_a_device_plugin_is_in_the_middle_of_a_request(self):
        self.server.start()
        self.start_both()
        use = {"slot": SLOT, "namespace": "lab", "pod": "train", "container": "main"}
        request = {"command": "slots", "begins": True, "used": [use], "ends": True}
        text = json.dumps(request).encode() + b"\n"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as slow:
            slow.settimeout(PATIENCE_S)
            slow.connect(str(self.folder / "plugin/plugin.sock"))
            slow.sendall(text[: len(text) // 2])
            self.assert_windows_go_on()
            # Others like it are served, and so is it when it goes on.
            self.server.put("train", uid=UID, gpu_core_limit="30")
            self.give_slot()
            self.tenant_in_pod()
            self.wait_for_cores("30", "annotation")
            slow.sendall(text[len(text) // 2 :])
            with slow.makefile() as lines:
                self.assertEqual(json.loads(lines.readline())["ok"], True)


class Usage(DaemonCase):
    def test_without_kubernetes_nobody_watches(self):
        self.start()
        self.assertIsNone(self.ask(command="status")["kubernetes"])

    def test_a_pod_without_a_node_name_is_told(self):
        daemon = self.start(KUBERNETES_SERVICE_HOST="10.0.0.1", KUBERNETES_SERVICE_PORT="443")
        self.assertTrue(any("annotations of pods are not watched" in one for one in daemon.log))


if __name__ == "__main__":
    unittest.main()
