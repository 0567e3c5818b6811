#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On which GPUs pods land, and what the daemon hears of them.

usage: spreading_test.py BUILD [UNITTEST_ARGUMENT...]
"""

import collections
import random
import signal
import socket
import unittest

from plugin_case import GPU, Container, DaemonCase, gpu_of


def status_of(load):
    """A daemon's status in which one tenant has that much of each GPU."""
    gpus = [{"index": index, "uuid": uuid, "waiting": 0} for index, uuid in enumerate(load)]
    uses = [{"gpu": index, "share_10s": share} for index, share in enumerate(load.values())]
    return {"gpus": gpus, "tenants": [{"id": 1, "gpus": uses}]}


class Spreading(DaemonCase):
    gpus = 8

    def counts(self):
        counted = collections.Counter(map(gpu_of, self.kubelet.in_use(GPU)))
        return [counted[gpu] for gpu in {gpu_of(id_) for id_ in self.kubelet.healthy(GPU)}]

    def difference(self):
        return max(self.counts()) - min(self.counts())

    def admit_evenly(self, pod):
        """Starts a pod: on a GPU that had the fewest."""
        least = min(self.counts())
        before = self.difference()
        self.kubelet.admit(pod, nvshare_com__gpu=1)
        (slot,) = self.kubelet.ids(pod, GPU)
        on_it = collections.Counter(map(gpu_of, self.kubelet.in_use(GPU)))[gpu_of(slot)]
        self.assertEqual(on_it, least + 1)
        self.assertLessEqual(self.difference(), max(before, 1))

    def test_pods_come_and_go_and_plugin_and_kubelet_restart(self):
        seed = 7
        draw = random.Random(seed)
        plugin = self.start()
        pods = []
        starts = 0
        for step in range(1000):
            if starts == 200:
                break
            if len(pods) < 80 and (draw.random() < 0.6 or not pods):
                starts += 1
                pods.append(f"pod{step}")
                self.admit_evenly(pods[-1])
            else:
                self.kubelet.end(pods.pop(draw.randrange(len(pods))))
            if step % 40 == 20:
                plugin.end(draw.choice((signal.SIGTERM, signal.SIGKILL)))
                plugin = self.start()
            if step % 40 == 30:
                self.kubelet.restart()
                self.wait_for_devices(80)

    def test_without_podresources_the_kubelets_word_is_enough(self):
        self.kubelet.refuses_lists = True
        self.start()
        for number in range(17):
            self.admit_evenly(f"pod{number}")

    def test_pods_of_earlier_settings_count(self):
        plugin = self.start("--allocation-policy", "packed")
        for number in range(3):
            self.kubelet.admit(f"old{number}", nvshare_com__gpu=1)
        full = {gpu_of(id_) for id_ in self.kubelet.in_use(GPU)}
        self.assertEqual(len(full), 1)
        plugin.end()
        # The kubelet says that all of the new resource is free. What runs is on one GPU.
        self.start("--resource", "example.com/gpu", resource="example.com/gpu")
        self.wait_for_lists()
        for number in range(14):
            self.kubelet.admit(f"new{number}", example_com__gpu=1)
        used = {gpu_of(id_) for id_ in self.kubelet.in_use("example.com/gpu")}
        self.assertEqual(len(used), 7)
        self.assertFalse(used & full)

    def test_among_equals_the_gpu_with_the_least_load(self):
        gpus = sorted({gpu_of(id_) for id_ in self.gpu_ids()})
        load = {gpu: 0.9 for gpu in gpus}
        load[gpus[5]] = 0.1
        with self.serving_daemon(lambda: status_of(load)):
            self.start()
            self.wait_for_lists()
            self.wait_until(lambda: self.questions >= 2, "the plugin's questions")

            def lands():
                self.kubelet.admit("pod", nvshare_com__gpu=1)
                (slot,) = self.kubelet.ids("pod", GPU)
                self.kubelet.end("pod")
                return gpu_of(slot) == gpus[5]

            self.wait_until(lands, "a pod where the least load is")

    def test_the_daemon_is_told_who_has_what(self):
        with self.serving_daemon(lambda: {"pid": 7, "uptime_s": 5}):
            self.start()
            self.kubelet.admit("first", nvshare_com__gpu=2)
            self.kubelet.admit("second", nvshare_com__gpu=1)
            holders = {**self.kubelet.holders(GPU)}
            self.assertEqual(sorted(one[1] for one in holders.values()), ["first"] * 2 + ["second"])
            self.wait_until(lambda: self.told == holders, "what the daemon is told")
            self.kubelet.end("second")
            self.wait_until(lambda: len(self.told) == 2, "what is left")
            holders = self.kubelet.holders(GPU)
        # Another one, with the same pid, knows nothing.
        with self.serving_daemon(lambda: {"pid": 7, "uptime_s": 1}):
            self.wait_until(lambda: self.told == holders, "what another daemon is told")
            # A kubelet that has just come lists nothing, and that is no news.
            self.kubelet.restart()
            self.wait_until(lambda: self.kubelet.empty_lists == 0, "lists of the new kubelet")
            self.wait_for_lists()
            self.assertFalse(self.lost)
            self.kubelet.admit("third", nvshare_com__gpu=1)
            self.wait_until(lambda: len(self.told) == 3, "what comes")

    def test_a_plugin_that_comes_right_after_the_kubelet_does_not_believe_its_lists(self):
        with self.serving_daemon(lambda: {"pid": 7, "uptime_s": 5}):
            plugin = self.start()
            for number in range(4):
                self.admit_evenly(f"pod{number}")
            holders = self.kubelet.holders(GPU)
            self.wait_until(lambda: self.told == holders, "what the daemon is told")
            plugin.end()
            self.kubelet.restart()
            self.kubelet.empty_lists = 1000
            questions = self.questions
            self.start()
            # What runs is on four of the eight GPUs.
            for number in range(4, 8):
                self.admit_evenly(f"pod{number}")
            self.wait_until(lambda: self.questions >= questions + 2, "the plugin's questions")
            self.assertEqual((self.told, self.lost), (holders, False))
            self.kubelet.empty_lists = 0
            holders = self.kubelet.holders(GPU)
            self.wait_until(lambda: self.told == holders, "what the daemon is told")
            self.assertFalse(self.lost)

    def test_each_container_of_a_pod_has_its_own(self):
        with self.serving_daemon(lambda: {"pid": 7, "uptime_s": 5}):
            self.start()
            one = {"nvshare_com__gpu": 1}
            answers = self.kubelet.admit_pod(
                "pod",
                [
                    Container("proxy", one, "sidecar"),
                    Container("log", {}),
                    Container("first", one),
                    Container("second", {"nvshare_com__gpu": 2}),
                ],
            )
            self.assertEqual(sorted(self.counts()), [0] * 4 + [1] * 4)
            for name in ("proxy", "first", "second"):
                slots = ",".join(self.kubelet.ids("pod", GPU, name))
                self.assertEqual(answers[name][GPU].envs["NVSHARE_SLOT"], slots)
            holders = self.kubelet.holders(GPU)
            names = collections.Counter(one[2] for one in holders.values())
            self.assertEqual(names, {"proxy": 1, "first": 1, "second": 2})
            self.wait_until(lambda: self.told == holders, "what the daemon is told")

    def test_what_an_init_container_had_goes_to_those_after_it(self):
        with self.serving_daemon(lambda: {"pid": 7, "uptime_s": 5}):
            self.start()
            pod = [
                Container("load", {"nvshare_com__gpu": 2}, "init"),
                Container("check", {"nvshare_com__gpu": 1}, "init"),
                Container("main", {"nvshare_com__gpu": 3}),
            ]
            answers = self.kubelet.admit_pod("pod", pod)
            slots = [self.kubelet.ids("pod", GPU, one.name) for one in pod]
            self.assertLess(set(slots[1]), set(slots[0]))
            self.assertLess(set(slots[0]), set(slots[2]))
            self.assertEqual(sorted(self.counts()), [0] * 5 + [1] * 3)
            said = answers["main"][GPU].envs["NVSHARE_SLOT"]
            self.assertCountEqual(said.split(","), slots[2])
            # The kubelet tells nobody of init containers.
            holders = self.kubelet.holders(GPU)
            self.assertEqual({one[2] for one in holders.values()}, {"main"})
            self.wait_until(lambda: self.told == holders, "what the daemon is told")
            # One that leaves nothing to those after it: its GPU is in use all the same.
            self.kubelet.admit_pod("other", [Container("load", {"nvshare_com__gpu": 1}, "init")])
            for number in range(4):
                self.admit_evenly(f"pod{number}")
            self.assertEqual(self.counts(), [1] * 8)

    def gpu_ids(self):
        plugin = self.start()
        ids = self.kubelet.healthy(GPU)
        plugin.end()
        self.wait_for_devices(0)
        return ids

    def test_nobody_waits_for_those_who_do_not_answer(self):
        # The daemon and PodResources take calls and never answer them.
        path = self.folder / "pod-resources/kubelet.sock"
        path.unlink()
        with socket.socket(socket.AF_UNIX) as silent, self.serving_daemon(None):
            silent.bind(str(path))
            silent.listen()
            plugin = self.start()
            for number in range(9):
                self.admit_evenly(f"pod{number}")
            plugin.end()

    def test_several_of_one_container_are_on_different_gpus(self):
        self.start()
        self.kubelet.admit("pod", nvshare_com__gpu=8)
        self.assertEqual(self.counts(), [1] * 8)

    def test_packed(self):
        self.start("--allocation-policy", "packed")
        for number in range(10):
            self.kubelet.admit(f"pod{number}", nvshare_com__gpu=1)
        self.assertEqual(sorted(self.counts()), [0] * 7 + [10])


if __name__ == "__main__":
    unittest.main()
