#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon in Kubernetes: who is taken for a container of which pod, and who is not.

usage: pod_identity_test.py NVSHARE_SCHEDULER [UNITTEST_ARGUMENT...]
"""

import unittest

from pods_case import SLOT, UID, PodGroup, PodsCase

HIGH = 3  # wire::WirePriority


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

    def test_a_wrong_slot_lifts_no_limit(self):
        self.server.start()
        self.server.put("train", uid=UID)
        self.start_in_cluster()
        self.give_slot(memory_bytes=1 << 30, cores=10)
        forged = SLOT.partition("::")[0] + "::999"
        self.tenant_in_pod(slot=forged, memory_limit=b"900Gi", core_limit=b"100")
        tenant = self.wait_for_cores("10", "resource")["tenants"][0]
        self.assertEqual(tenant["kubernetes"]["standing"], "unverified")
        self.assertEqual(tenant["limits"]["memory"], {"value": "1Gi", "source": "resource"})

    def test_nobody_in_a_pod_puts_itself_first(self):
        self.start()  # whether pods are watched does not matter
        self.tenant_in_pod(priority=HIGH)
        outside = self.tenant(1, priority=HIGH, program=b"outside")
        by_name = {one["name"]: one for one in self.ask(command="status")["tenants"]}
        inside = by_name["train.py"]
        self.assertEqual((inside["priority"], inside["priority_asked"]), ("normal", "high"))
        self.assertEqual(by_name["outside"]["priority"], "high")
        self.daemon.wait_for_log("higher priority than pods may have", "tenant=train.py")
        self.ask(command="priority", tenant=inside["id"], priority="high")
        outside.close()
        self.assertEqual(self.ask(command="status")["tenants"][0]["priority"], "high")

    def test_nobody_in_a_pod_administers(self):
        self.server.start()
        self.start_in_cluster()
        ask = self.ask_socket
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


class MainThreads(PodsCase):
    """Of programs whose first thread ends before the others do."""

    def check_its_pod_is_known(self):
        self.server.start()
        self.server.put("train", uid=UID, gpu_core_limit="30")
        self.start_in_cluster()
        self.give_slot()
        self.tenant_in_pod(main_thread_ends=True)
        tenant = self.wait_for_cores("30", "annotation")["tenants"][0]
        self.assertEqual(tenant["kubernetes"]["standing"], "verified")
        admin = self.in_pod(lambda: self.ask_socket("admin.sock"), main_thread_ends=True)
        self.assertEqual(admin["code"], "denied")

    def test_in_groups_of_version_2(self):
        self.check_its_pod_is_known()

    def test_in_groups_of_version_1(self):
        try:
            self.group = PodGroup(UID, version=1)
        except OSError as error:
            self.skipTest(f"no groups of version 1 here: {error}")
        self.addCleanup(self.group.remove)
        self.addCleanup(self.kill_all)
        self.check_its_pod_is_known()


class PodsFromFiles(PodsCase):
    uid = "0123456789abcdef0123456789abcdef"  # the kubelet's hash

    def start_static(self, **pods):
        """Pods by name, with a limit each, that all say they are pictures of the one in a file."""
        self.server.start()
        for name, limit in pods.items():
            self.server.put(name, mirror=self.uid, gpu_core_limit=limit)
        self.start_in_cluster("--core-limit", "50")
        self.tenant_in_pod()
        return self.wait_for(lambda status: status["kubernetes"]["pods"] == len(pods))

    def check_has_what_the_node_gives(self, status):
        tenant = status["tenants"][0]
        self.assertEqual(tenant["kubernetes"]["standing"], "unverified")
        self.assertEqual(tenant["limits"]["cores"], {"value": "50", "source": "default"})

    def test_they_are_verified_and_have_their_annotations(self):
        self.start_static(train="70")
        self.give_slot()
        tenant = self.wait_for_cores("70", "annotation")["tenants"][0]
        self.assertEqual(tenant["kubernetes"]["standing"], "verified")
        self.assertEqual(tenant["name"], "lab/train")
        self.server.put("train", gpu_core_limit="60")
        self.wait_for_cores("60", "annotation")

    def test_whoever_makes_up_a_picture_says_nothing_of_them(self):
        self.check_has_what_the_node_gives(self.start_static(a="1", train="70", z="99"))
        self.give_slot()
        tenant = self.wait_for_cores("70", "annotation")["tenants"][0]
        self.assertEqual(tenant["name"], "lab/train")

    def test_nor_without_a_real_one(self):
        self.check_has_what_the_node_gives(self.start_static(evil="1"))
        self.give_slot()
        status = self.wait_for(lambda status: status["kubernetes"]["slots"] == 1)
        self.check_has_what_the_node_gives(status)


class PodsFromFilesWithAUid(PodsFromFiles):
    """That the file gives; pods of the API server have uids of that form."""

    uid = UID

    def test_whoever_makes_up_a_picture_of_a_pod_of_the_servers_says_nothing(self):
        self.server.start()
        self.server.put("real", uid=UID, gpu_core_limit="40")
        self.server.put("train", mirror=UID, gpu_core_limit="90")
        self.start_in_cluster("--core-limit", "50")
        self.give_slot()  # to the other one's name, which no kubelet does
        self.tenant_in_pod()
        self.wait_for(lambda status: status["kubernetes"]["pods"] == 2)
        tenant = self.wait_for_cores("40", "annotation")["tenants"][0]
        self.assertEqual(tenant["kubernetes"]["standing"], "unverified")
        self.give_slot(pod="real")
        tenant = self.ask(command="status")["tenants"][0]
        self.assertEqual(tenant["name"], "lab/real")
        self.assertEqual(tenant["limits"]["cores"], {"value": "40", "source": "annotation"})


if __name__ == "__main__":
    unittest.main()
