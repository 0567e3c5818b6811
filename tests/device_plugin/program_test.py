#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvshare-device-plugin as those who run it meet it: settings, health, probes, ends.

usage: program_test.py BUILD [UNITTEST_ARGUMENT...]
"""

import fcntl
import os
import re
import signal
import subprocess
import time
import unittest

from plugin_case import BUILD, GPU, PATIENCE_S, PLUGIN, PluginCase, environment

NVIDIA_GPU = "nvidia.com/gpu"


def time_slicing(replicas, more=""):
    return (
        f"version: v1\nsharing:\n  timeSlicing:\n{more}    resources:\n"
        f"    - name: nvidia.com/gpu\n      replicas: {replicas}\n"
    )


class CommandLine(unittest.TestCase):
    def run_with(self, *arguments, **variables):
        return subprocess.run(
            [PLUGIN, *arguments],
            env=environment(**variables),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def test_help_and_version_are_answers(self):
        for flag, words in (("--help", "Usage: nvshare-device-plugin"), ("--version", "plugin 0.")):
            done = self.run_with(flag)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(words, done.stdout)

    def test_wrong_usage_says_what_and_where_to_look(self):
        for arguments, words in (
            (("--replicas", "0"), "1 to 1000"),
            (("--injection", "magic"), "ld-so-preload, cdi-cri or env"),
            (("--device-list-strategy", "envvar,"), "cdi-annotations"),
            (("--allocation-policy", "most"), "distributed or packed"),
            (("--resource", "gpu"), "nvshare.com/gpu"),
            (("--resource", "requests.nvshare.com/gpu"), "requests."),
            (("--resource", "mykubernetes.io/gpu"), "not for extended resources"),
            (("--memory-unit", "1"), "1Gi"),
            (("--host-root", "here"), "begin with /"),
            (("--speed", "9"), "--speed"),
        ):
            done = self.run_with(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(words, done.stderr)
            self.assertIn("--help", done.stderr)

    def test_no_value_is_taken_for_another(self):
        listed = self.run_with("--help").stdout
        names = re.findall(r"^ +(--[a-z-]+) [A-Z\[]", listed, re.MULTILINE)
        self.assertGreater(len(names), 15, listed)
        for name in names:
            for words in ((name, ""), (f"{name}=",)):
                done = self.run_with(*words, "--check")
                self.assertEqual((done.returncode, done.stdout), (2, ""), words)
                self.assertIn(f"{name} needs a value", done.stderr)

    def test_variables_count_where_no_flag_does(self):
        for variables, words in (
            ({"NVSHARE_VIRTUAL_DEVICES": "7"}, "nvshare.com/gpu: 7 of each GPU"),
            ({"NVSHARE_VIRTUAL_DEVICES": "many"}, "NVSHARE_VIRTUAL_DEVICES"),
            ({"DP_DISABLE_HEALTHCHECKS": "some"}, "DP_DISABLE_HEALTHCHECKS"),
            ({"NVSHARE_LOG": "loud"}, "NVSHARE_LOG"),
        ):
            done = self.run_with("--check", **variables)
            self.assertIn(words, done.stdout + done.stderr)
        done = self.run_with("--check", "--replicas", "3", NVSHARE_VIRTUAL_DEVICES="7")
        self.assertIn("3 of each GPU", done.stdout)


class Settings(PluginCase):
    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def test_nvidias_file_is_taken_as_it_is(self):
        file = self.write("config", time_slicing(4))
        self.start("--config-file", file, resource=NVIDIA_GPU, devices=8)
        self.kubelet.admit("pod", nvidia_com__gpu=1)
        self.assertEqual(list(self.kubelet.endpoints), [NVIDIA_GPU])

    def test_renamed_resources(self):
        file = self.write("config", time_slicing(4, "    renameByDefault: true\n"))
        self.start(CONFIG_FILE=str(file), resource="nvidia.com/gpu.shared", devices=8)

    def test_a_wrong_file_is_refused_with_its_line(self):
        file = self.write("config", time_slicing(1))
        plugin = self.launch("--config-file", file)
        self.assertEqual(plugin.process.wait(PATIENCE_S), 2)
        plugin.reader.join(PATIENCE_S)
        self.assertIn(f"{file}:6: sharing.timeSlicing.resources.replicas", plugin.log[-1])

    def test_a_file_that_changes_is_noticed_and_a_wrong_one_is_not_taken(self):
        file = self.write("config", time_slicing(4))
        plugin = self.start("--config-file", file, resource=NVIDIA_GPU, devices=8)
        file.write_text(time_slicing(6))
        plugin.process.send_signal(signal.SIGHUP)
        self.wait_for_devices(12, NVIDIA_GPU)
        file.write_text("version: v1\nsharring: {}\n")
        plugin.process.send_signal(signal.SIGHUP)
        self.wait_until(lambda: plugin.has_logged("settings are wrong", ":2: sharring"), "a word")
        self.wait_for_devices(12, NVIDIA_GPU)
        # Without a signal too, as a ConfigMap changes; other resources take the place of these.
        file.write_text("version: nvshare/v1\nreplicas: 3\n")
        self.wait_for_devices(6)
        self.wait_for_devices(0, NVIDIA_GPU)
        self.assertIsNone(plugin.process.poll())

    def test_configs_by_name_and_by_label(self):
        self.write("configs/few", time_slicing(2))
        self.write("configs/many", time_slicing(9))
        label = self.write("label", "many\n")
        folder = self.folder / "configs"
        flags = ("--config-folder", folder, "--config-label-file", label, "--default-config", "few")
        plugin = self.start(*flags, resource=NVIDIA_GPU, devices=18)
        label.write_text("")
        plugin.process.send_signal(signal.SIGHUP)
        self.wait_for_devices(4, NVIDIA_GPU)
        plugin.end()
        self.start(*flags, "--config", "many", resource=NVIDIA_GPU, devices=18)

    def test_labels_of_the_node_are_in_a_file_while_it_runs(self):
        def labels(replicas):
            return (
                f"nvshare.com/gpu.count=2\nnvshare.com/gpu.replicas={replicas}\n"
                "nvshare.com/gpu.sharing-strategy=nvshare\n"
            )

        config = self.write("config", time_slicing(4))
        folder = self.folder / "features.d"
        folder.mkdir()
        file = folder / "nvshare"
        flags = ("--config-file", config, "--node-labels-file", file)
        plugin = self.start(*flags, resource=NVIDIA_GPU, devices=8)
        self.assertEqual(file.read_text("ascii"), labels(4))
        # Others read it, in containers that have other users.
        self.assertEqual(file.stat().st_mode & 0o777, 0o644)
        config.write_text(time_slicing(6))
        plugin.process.send_signal(signal.SIGHUP)
        self.wait_for_devices(12, NVIDIA_GPU)
        self.assertEqual(file.read_text("ascii"), labels(6))
        self.assertEqual(plugin.end(), 0)
        self.assertEqual(list(folder.iterdir()), [])

    def test_labels_of_another_plugin_are_left(self):
        """As when a node chooses another config: its DaemonSet waits for no other."""
        file = self.folder / "nvshare"
        old = self.start("--node-labels-file", file)
        new = self.launch("--node-labels-file", file, "--replicas", 3)
        self.wait_until(lambda: "replicas=3" in file.read_text("ascii"), "the new one's labels")
        self.assertEqual(old.end(), 0)
        self.assertIn("replicas=3", file.read_text("ascii"))
        self.assertEqual(new.end(), 0)
        self.assertFalse(file.exists())

    def test_no_gpus_are_an_error_or_waited_for(self):
        broken = {"NVSHARE_NVML": "/nonexistent/libnvidia-ml.so.1"}
        plugin = self.launch(**broken)
        self.assertEqual(plugin.process.wait(PATIENCE_S), 1)
        plugin.reader.join(PATIENCE_S)
        self.assertIn("runtimeClassName", plugin.log[-1])
        self.assertEqual(plugin.log[-1].count("libnvidia-ml.so.1"), 1, plugin.log[-1])
        file = self.write("config", "flags: {failOnInitError: false}\n")
        plugin = self.launch("--config-file", file, **broken)
        self.wait_until(lambda: plugin.has_logged("nothing is offered"), "a warning")
        self.assertEqual(plugin.end(), 0)

    def test_a_missing_library_is_an_error(self):
        self.library.unlink()
        plugin = self.launch()
        self.assertEqual(plugin.process.wait(PATIENCE_S), 1)
        plugin.reader.join(PATIENCE_S)
        self.assertIn("libnvshare.so", plugin.log[-1])


class Uninstallation(PluginCase):
    def setUp(self):
        super().setUp()
        self.socket = self.folder / "pod-resources/kubelet.sock"
        self.host = self.folder / "host"

    def ask(self):
        return subprocess.run(
            [PLUGIN, "--unused", "--pod-resources", self.socket, "--root-mount", self.host],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def test_pods_that_have_devices_are_named(self):
        plugin = self.start()
        done = self.ask()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.kubelet.admit("train", nvshare_com__gpu=1)
        plugin.end()
        self.wait_for_devices(0)
        # Their containers may be restarted all the same.
        done = self.ask()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"^default/train has GPU-\S+::\d+ in its container main\n$")
        self.kubelet.end("train")
        self.assertEqual(self.ask().returncode, 0)

    def test_nobody_is_no_answer_of_a_kubelet_that_has_just_come(self):
        self.start()
        self.kubelet.admit("train", nvshare_com__gpu=1)
        self.kubelet.restart()
        self.kubelet.empty_lists = 1000  # for all who ask
        done = self.ask()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "not known.*less than a minute")
        self.kubelet.empty_lists = 0
        self.assertRegex(self.ask().stdout, "^default/train has")
        self.kubelet.end("train")
        self.assertEqual(self.ask().returncode, 1)
        self.kubelet.age()
        self.assertEqual(self.ask().returncode, 0)

    def test_devices_of_other_plugins_are_not_ours(self):
        slot = "GPU-1::0"
        self.kubelet.pods["sound"] = {"main": {"example.com/card": ["card::0"]}}
        self.assertEqual(self.ask().returncode, 0)
        # Before it is known which names are ours all are.
        self.kubelet.pods["other"] = {"main": {"example.com/gpu": [slot]}}
        self.assertRegex(self.ask().stdout, f"^default/other has {slot} in its container main\n$")
        plugin = self.start()
        self.kubelet.admit("train", nvshare_com__gpu=1)
        self.assertRegex(self.ask().stdout, r"^default/train has \S+ in its container main\n$")
        self.kubelet.end("train")
        self.assertEqual(self.ask().returncode, 0)
        # What was ever offered stays ours.
        plugin.end()
        self.start("--resource", "example.com/gpu", resource="example.com/gpu")
        self.kubelet.pods["old"] = {"main": {GPU: [slot]}}
        self.assertRegex(self.ask().stdout, r"default/old has .*\ndefault/other has .*\n$")

    def test_nobody_removes_anything_beside_a_plugin_that_runs(self):
        plugin = self.start()
        with open(self.host / "lock", "rb") as lock:
            with self.assertRaises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.assertEqual(plugin.end(), 0)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Nor does one come beside it.
            late = self.launch()
            self.assertEqual(late.process.wait(PATIENCE_S), 1)
            late.reader.join(PATIENCE_S)
            self.assertIn("an uninstallation is removing it", late.log[-1])
        self.start()

    def test_a_kubelet_that_does_not_say_is_no_proof(self):
        self.kubelet.refuses_lists = True
        done = self.ask()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("not known", done.stderr)


class Health(PluginCase):
    def break_gpu(self, gpu, xid):
        with self.events.open("a") as file:
            file.write(f"{gpu} {xid}\n")

    def break_until_heard(self, plugin, gpu, xid):
        """Again and again: what happens before it listens is lost."""

        def heard():
            self.break_gpu(gpu, xid)
            return plugin.has_logged(f"xid={xid}")

        self.wait_until(heard, f"xid {xid}")

    def test_a_critical_error_takes_all_devices_of_the_gpu(self):
        plugin = self.start("--cores")
        self.wait_for_devices(200, "nvshare.com/gpu-core")
        self.break_until_heard(plugin, 0, 13)
        for xid in (31, 43, 45, 68, 109):
            self.break_gpu(0, xid)
        self.wait_until(lambda: plugin.has_logged("xid=109"), "the last of the harmless ones")
        self.break_gpu(1, 79)
        self.wait_for_devices(10)
        self.wait_for_devices(100, "nvshare.com/gpu-core")
        self.assertEqual(self.kubelet.capacity(GPU), 20)
        self.assertEqual(len({id_.split("::")[0] for id_ in self.kubelet.healthy(GPU)}), 1)
        # It is known to the next stream as well.
        self.kubelet.restart()
        self.wait_for_devices(10)

    def test_errors_while_no_kubelet_listens_are_not_lost(self):
        """1.5: NVIDIA's checker waits for somebody to take the first one, and sees no other."""
        plugin = self.start()
        self.kubelet.stop()
        self.wait_until(lambda: plugin.has_logged("unregistered"), "the end of the stream")
        self.break_until_heard(plugin, 0, 79)
        self.break_gpu(1, 48)
        self.wait_until(lambda: plugin.has_logged("xid=48"), "the second error")
        self.kubelet.start()
        self.wait_until(lambda: self.kubelet.capacity(GPU) == 20, "the devices")
        self.assertEqual(self.kubelet.allocatable(GPU), 0)

    def fake_nvml(self, **more):
        """A library with three GPUs, the lines of whose events name an instance too."""
        library = BUILD / "test/nvml/libfake_nvml.so"
        own = {"NVSHARE_NVML": str(library), "NVSHARE_FAKE_NVML_EVENTS": str(self.events)}
        return own | more

    def test_a_gpu_that_does_not_answer_is_away_until_it_does(self):
        lost = self.folder / "lost"
        lost.touch()
        self.start(devices=30, **self.fake_nvml(NVSHARE_FAKE_NVML_LOST=str(lost)))
        lost.write_text("1\n")
        self.wait_for_devices(20)
        self.assertNotIn("GPU-00000001", " ".join(self.kubelet.healthy(GPU)))
        lost.write_text("")
        self.wait_for_devices(30)

    def test_an_error_of_nobody_knows_which_gpu_takes_all(self):
        """1.5: the one that it is of cannot even say who it is."""
        lost = self.folder / "lost"
        lost.touch()
        plugin = self.start(devices=30, **self.fake_nvml(NVSHARE_FAKE_NVML_LOST=str(lost)))
        self.break_gpu(1, "13 -1 -1")
        self.wait_until(lambda: plugin.has_logged("xid=13"), "a harmless one")
        lost.write_text("1\n")
        self.break_gpu(1, "79 -1 -1")
        self.wait_for_devices(0)
        self.assertEqual(self.kubelet.capacity(GPU), 30)
        self.assertTrue(plugin.has_logged("unhealthy", "GPU-00000002", "Xid 79"))

    def test_an_error_of_a_mig_instance_is_its_own(self):
        # The fake's GPU 1 has two instances, and two other GPUs are whole.
        self.start(devices=40, **self.fake_nvml(NVSHARE_FAKE_NVML="mig"))

        def gpus():
            return {id_.split("-1122")[0] for id_ in self.kubelet.healthy(GPU)}

        others = {"GPU-00000000", "GPU-00000002"}
        self.break_gpu(1, "48 9 2")
        self.wait_until(lambda: gpus() == {"MIG-00000008", *others}, "the loss of one instance")
        # What the driver cannot put down to one is of all.
        self.break_gpu(1, "79 -1 -1")
        self.wait_until(lambda: gpus() == others, "the loss of the GPU")

    def test_checks_can_be_switched_off(self):
        self.start(DP_DISABLE_HEALTHCHECKS="all")
        self.break_gpu(0, 79)
        self.wait_for_lists()
        self.assertEqual(self.kubelet.allocatable(GPU), 20)

    def test_an_error_can_be_made_harmless(self):
        plugin = self.start(DP_DISABLE_HEALTHCHECKS="79", DP_ENABLE_HEALTHCHECKS="31")
        self.break_until_heard(plugin, 0, 79)
        self.break_gpu(1, 31)
        self.wait_for_devices(10)


if __name__ == "__main__":
    unittest.main()
