#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What containers get from the plugin.

usage: allocation_test.py BUILD [UNITTEST_ARGUMENT...]
"""

import itertools
import json
import pathlib
import signal
import unittest

from plugin_case import BUILD, GPU, PluginCase, container_of, gpu_of, grpc


class Containers(PluginCase):
    def mounts(self, answer):
        for mount in answer.mounts:
            self.assertTrue(mount.read_only, mount)
        return {mount.container_path: mount.host_path for mount in answer.mounts}

    def test_a_container_gets_gpu_library_daemon_and_slot(self):
        self.start()
        answer = self.kubelet.admit("pod", nvshare_com__gpu=1)[GPU]
        (slot,) = self.kubelet.ids("pod", GPU)
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
        slots = self.kubelet.ids("pod", GPU)
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
        # A runtime starts no container with one that is missing, and no daemon has been here.
        for mount in spec["containerEdits"]["mounts"]:
            path = pathlib.Path(mount["hostPath"])
            if not mount["containerPath"].endswith("tenant"):
                self.assertTrue(path.read_bytes())
                continue
            for folder in (path, path.parent):
                self.assertEqual((folder.is_dir(), folder.stat().st_mode & 0o7777), (True, 0o755))

    def test_the_daemons_folder_is_made_for_cdi_alone(self):
        self.start()
        self.assertFalse((self.folder / "run").exists())

    def test_a_folder_of_the_daemon_that_cannot_be_made_is_said(self):
        (self.folder / "run").write_text("no folder")
        plugin = self.start("--injection", "cdi-cri")
        self.assertTrue(plugin.has_logged(f"{self.folder}/run: ", "nvshare-scheduler has made it"))

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
        slots = self.kubelet.ids("pod", GPU)
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
            (slot,) = self.kubelet.ids(f"pod{number}", gpu)
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
        # 2.3: of what two resources of a container say, only the first counts. These say no name
        # twice, in whatever order the kubelet asks.
        wanted = {**answers[GPU].envs, **answers[memory].envs, **cores.envs}
        self.assertEqual(len(wanted), 4)
        for order in itertools.permutations(answers.values()):
            variables, mounts, _ = container_of(order)
            self.assertEqual((variables, mounts), (wanted, self.mounts(answers[GPU])))

    def test_of_two_resources_of_slots_a_container_has_the_first(self):
        """2.3: all of the one, and not the GPU of one and the slot of another."""
        fake = {
            "NVSHARE_NVML": str(BUILD / "test/nvml/libfake_nvml.so"),
            "NVSHARE_FAKE_NVML": "mig",
        }
        file = self.folder / "config"
        file.write_text("version: v1\nflags: {migStrategy: mixed}\n")
        gpu = "nvidia.com/gpu"
        self.start("--config-file", file, resource=gpu, devices=2, **fake)
        answers = {}
        for resource in (gpu, "nvidia.com/mig-1g.5gb"):
            self.wait_for_devices(2, resource)
            answers[resource] = self.kubelet.allocate(resource, self.kubelet.healthy(resource)[:1])
        for order in itertools.permutations(answers.values()):
            variables, mounts, _ = container_of(order)
            self.assertEqual(variables, dict(order[0].envs))
            self.assertEqual(mounts, self.mounts(order[0]))
            self.assertEqual(mounts, self.mounts(order[1]))
            self.assertIn(variables["NVIDIA_VISIBLE_DEVICES"], variables["NVSHARE_SLOT"])

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

if __name__ == "__main__":
    unittest.main()
