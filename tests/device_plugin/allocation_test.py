#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What containers get from the plugin, and on which GPUs pods land.

usage: allocation_test.py BUILD [UNITTEST_ARGUMENT...]
"""

import collections
import contextlib
import json
import pathlib
import random
import signal
import socket
import threading
import unittest

from plugin_case import BUILD, GPU, PluginCase, grpc


def gpu_of(id_):
    return id_.split("::")[0]


def status_of(load):
    """A daemon's status in which one tenant has that much of each GPU."""
    gpus = [{"index": index, "uuid": uuid, "waiting": 0} for index, uuid in enumerate(load)]
    uses = [{"gpu": index, "share_10s": share} for index, share in enumerate(load.values())]
    return {"gpus": gpus, "tenants": [{"id": 1, "gpus": uses}]}


class Containers(PluginCase):
    def mounts(self, answer):
        for mount in answer.mounts:
            self.assertTrue(mount.read_only, mount)
        return {mount.container_path: mount.host_path for mount in answer.mounts}

    def test_a_container_gets_gpu_library_daemon_and_slot(self):
        self.start()
        answer = self.kubelet.admit("pod", nvshare_com__gpu=1)[GPU]
        (slot,) = self.kubelet.pods["pod"][GPU]
        self.assertEqual(
            dict(answer.envs), {"NVIDIA_VISIBLE_DEVICES": gpu_of(slot), "NVSHARE_SLOT": slot}
        )
        mounts = self.mounts(answer)
        self.assertEqual(len(mounts), 3)
        self.assertEqual(mounts["/var/run/nvshare/tenant"], str(self.folder / "run/tenant"))
        with open(mounts["/usr/lib/nvshare/libnvshare.so"], "rb") as library:
            self.assertEqual(library.read(), self.library.read_bytes())
        with open(mounts["/etc/ld.so.preload"], encoding="utf-8") as preload:
            self.assertEqual(preload.read(), "/usr/lib/nvshare/libnvshare.so\n")
        self.assertEqual((list(answer.cdi_devices), dict(answer.annotations)), ([], {}))

    def test_an_upgrade_leaves_the_library_of_running_pods(self):
        plugin = self.start()
        before = self.mounts(self.kubelet.admit("old", nvshare_com__gpu=1)[GPU])
        plugin.end()
        self.library.write_bytes(b"the library, version two")
        self.start()
        after = self.mounts(self.kubelet.admit("new", nvshare_com__gpu=1)[GPU])
        path = "/usr/lib/nvshare/libnvshare.so"
        self.assertNotEqual(before[path], after[path])
        self.wait_for_lists()
        for mounts, content in ((before, b"version one"), (after, b"version two")):
            with open(mounts[path], "rb") as library:
                self.assertIn(content, library.read())

    def test_cdi(self):
        self.start("--injection", "cdi-cri", "--device-list-strategy", "cdi-cri")
        answer = self.kubelet.admit("pod", nvshare_com__gpu=2)[GPU]
        slots = self.kubelet.pods["pod"][GPU]
        names = [device.name for device in answer.cdi_devices]
        ours = [name.removeprefix(f"{GPU}=") for name in names if name.startswith(GPU)]
        self.assertEqual(ours, [slot.replace("::", "_") for slot in slots])
        self.assertEqual(
            names[:2], [f"nvidia.com/gpu={gpu}" for gpu in map(gpu_of, slots)]
        )
        self.assertEqual(dict(answer.envs), {"NVSHARE_SLOT": ",".join(slots)})
        self.assertEqual(self.mounts(answer), {})
        spec = json.loads((self.folder / "cdi/nvshare.com-gpu.json").read_text())
        self.assertLessEqual(set(ours), {device["name"] for device in spec["devices"]})
        for mount in spec["containerEdits"]["mounts"]:
            if not mount["containerPath"].endswith("tenant"):
                self.assertTrue(pathlib.Path(mount["hostPath"]).read_bytes())

    def cdi_names(self):
        """What a runtime would know of."""
        path = self.folder / "cdi/nvshare.com-gpu.json"
        spec = json.loads(path.read_text()) if path.exists() else {"devices": []}
        return [device["name"] for device in spec["devices"]]

    def test_cdi_devices_of_running_pods_stay_known(self):
        config = self.folder / "config"
        config.write_text("version: nvshare/v1\nreplicas: 5\ninjection: cdi-cri\n")
        plugin = self.start("--config-file", config, devices=10)
        self.kubelet.admit("pod", nvshare_com__gpu=10)
        slots = self.kubelet.pods["pod"][GPU]
        names = {slot.replace("::", "_") for slot in slots}
        self.wait_for_lists()
        # Fewer of them, while it runs and after a restart: a container may be restarted with its
        # old ones at any time.
        config.write_text("version: nvshare/v1\nreplicas: 1\ninjection: cdi-cri\n")
        plugin.process.send_signal(signal.SIGHUP)
        self.wait_until(lambda: self.kubelet.capacity(GPU) == 2, "fewer devices")
        self.assertEqual(set(self.cdi_names()), names)
        plugin.end()
        plugin = self.start("--config-file", config, devices=2)
        self.assertEqual(set(self.cdi_names()), names)
        plugin.end()
        # The folder is empty after a reboot, and a kubelet lists its pods after a while.
        (self.folder / "cdi/nvshare.com-gpu.json").unlink()
        self.kubelet.empty_lists = 3
        self.start("--config-file", config, devices=2)
        self.wait_until(lambda: set(self.cdi_names()) == names, "what pods have")
        self.assertEqual(len(self.cdi_names()), 10)

    def test_a_cdi_file_that_could_not_be_written_is_written_later(self):
        plugin = self.start("--injection", "cdi-cri")
        folder = self.folder / "cdi"
        folder.rename(self.folder / "away")
        folder.write_text("no folder")
        self.kubelet.admit("pod", nvshare_com__gpu=1)
        self.wait_until(lambda: plugin.has_logged("the CDI file is old"), "an error")
        # With no news of pods in between.
        folder.unlink()
        self.wait_until(lambda: len(self.cdi_names()) == 20, "the file")

    def test_an_index_is_nvmls(self):
        # Of its GPUs the second is first on the bus, and the third does not answer.
        fake = {
            "NVSHARE_NVML": str(BUILD / "test/nvml/libfake_nvml.so"),
            "NVSHARE_FAKE_NVML": "lost_gpu",
        }
        file = self.folder / "config"
        file.write_text("version: v1\nflags: {plugin: {deviceIDStrategy: index}}\n")
        gpu = "nvidia.com/gpu"
        self.start("--config-file", file, "--replicas", 2, resource=gpu, devices=4, **fake)
        seen = set()
        for number in range(2):
            answer = self.kubelet.admit(f"pod{number}", nvidia_com__gpu=1)[gpu]
            (slot,) = self.kubelet.pods[f"pod{number}"][gpu]
            index = answer.envs["NVIDIA_VISIBLE_DEVICES"]
            self.assertTrue(slot.startswith(f"GPU-0000000{index}-"), (slot, index))
            seen.add(index)
        self.assertEqual(seen, {"0", "1"})

    def test_device_files_are_passed_where_the_settings_say_so(self):
        file = self.folder / "config"
        file.write_text("version: v1\nflags: {plugin: {passDeviceSpecs: true}}\n")
        gpu = "nvidia.com/gpu"
        self.start("--config-file", file, resource=gpu, devices=2)
        answer = self.kubelet.admit("pod", nvidia_com__gpu=2)[gpu]
        controls = ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"]
        wanted = [f"/dev/{name}" for name in controls if pathlib.Path("/dev", name).exists()]
        wanted += ["/dev/nvidia0", "/dev/nvidia1"]
        self.assertCountEqual([one.host_path for one in answer.devices], wanted)
        for one in answer.devices:
            self.assertEqual((one.container_path, one.permissions), (one.host_path, "rw"))

    def test_memory_and_cores_set_limits(self):
        self.start("--memory-ratio", "1.5", "--memory-unit", "256Mi", "--cores")
        self.wait_for_devices(200, "nvshare.com/gpu-core")
        memory = "nvshare.com/gpu-memory"
        self.wait_until(lambda: self.kubelet.allocatable(memory), memory)
        answers = self.kubelet.admit(
            "pod", nvshare_com__gpu=1, nvshare_com__gpu_memory=6, nvshare_com__gpu_core=40
        )
        self.assertEqual(dict(answers[memory].envs), {"NVSHARE_GPU_MEMORY_LIMIT": "1536Mi"})
        cores = answers["nvshare.com/gpu-core"]
        self.assertEqual(dict(cores.envs), {"NVSHARE_GPU_CORE_LIMIT": "40"})
        # 2.3: of what two resources of a container say twice, only the first counts.
        self.assertNotIn("NVSHARE_GPU_CORE_LIMIT", answers[GPU].envs)

    def check_refused(self, code, ids, words):
        with self.assertRaises(grpc.RpcError) as raised:
            self.kubelet.allocate(GPU, ids)
        self.assertEqual(raised.exception.code(), code)
        self.assertIn(words, raised.exception.details())

    def test_unknown_devices_are_refused(self):
        self.start()
        self.check_refused(grpc.StatusCode.INVALID_ARGUMENT, ["GPU-x::1"], "GPU-x::1")
        self.check_refused(grpc.StatusCode.INVALID_ARGUMENT, [], "no device")

    def test_more_than_one_is_refused_where_the_settings_say_so(self):
        self.start("--fail-requests-greater-than-one")
        ids = self.kubelet.healthy(GPU)[:2]
        self.check_refused(grpc.StatusCode.FAILED_PRECONDITION, ids, "asked for 2")
        self.kubelet.allocate(GPU, ids[:1])

    def test_more_than_one_whole_gpu_is_never_refused(self):
        self.start("--fail-requests-greater-than-one", "--replicas", 1, devices=2)
        answer = self.kubelet.admit("pod", nvshare_com__gpu=2)[GPU]
        self.assertEqual(len(answer.envs["NVIDIA_VISIBLE_DEVICES"].split(",")), 2)


class Spreading(PluginCase):
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
        (slot,) = self.kubelet.pods[pod][GPU]
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
                (slot,) = self.kubelet.pods["pod"][GPU]
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

    def gpu_ids(self):
        plugin = self.start()
        ids = self.kubelet.healthy(GPU)
        plugin.end()
        self.wait_for_devices(0)
        return ids

    @contextlib.contextmanager
    def serving_daemon(self, status):
        """A daemon's socket for plugins that answers `status`; None: never."""
        self.questions, self.told, self.lost = 0, {}, False
        place = self.folder / "run/plugin/plugin.sock"
        place.parent.mkdir(parents=True, exist_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
            listener.listen()
            thread = threading.Thread(target=self.answer, args=(listener, status), daemon=True)
            thread.start()
            yield
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
        place.unlink()

    def answer(self, listener, status):
        silent = []
        while True:
            try:
                visitor, _ = listener.accept()
            except OSError:
                return
            if status is None:
                silent.append(visitor)
                continue
            # One that has lost its patience is gone.
            with contextlib.suppress(OSError), visitor, visitor.makefile("rw") as lines:
                for line in lines:
                    result = self.answer_one(json.loads(line), status)
                    lines.write(json.dumps({"ok": True, "result": result}) + "\n")
                    lines.flush()
            self.questions += 1

    def answer_one(self, request, status):
        if request == {"command": "status"}:
            return status()
        whole = request.get("begins", False)
        self.assertEqual((request["command"], request.get("ends", False)), ("slots", whole))
        keys = ("namespace", "pod", "container")
        used = {use["slot"]: tuple(use[key] for key in keys) for use in request["used"]}
        self.lost = self.lost or (whole and not set(self.told) <= set(used))
        self.told = used if whole else {**self.told, **used}
        return {}

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
