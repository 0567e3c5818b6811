#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins and kubelets that come and go, with kubelets of both generations.

usage: registration_test.py BUILD [UNITTEST_ARGUMENT...]
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import unittest

from plugin_case import GPU, PATIENCE_S, KubeletDiedError, both_generations, stopped


class Registrations:
    def test_it_is_registered_with_all_its_devices(self):
        self.start()
        self.assertEqual(self.kubelet.capacity(GPU), 20)
        self.assertTrue(self.kubelet.endpoints[GPU].options.get_preferred_allocation_available)
        self.assertFalse(self.kubelet.endpoints[GPU].options.pre_start_required)

    def test_settings_read_again_make_a_fresh_socket(self):
        # Up to 1.36 the end of the old stream cuts the new one, and a second round mends it.
        plugin = self.start()
        for _ in range(3):
            before = self.kubelet.registrations[-1]
            plugin.process.send_signal(signal.SIGHUP)
            self.wait_until(lambda: self.kubelet.registrations[-1] != before, "a registration")
            self.wait_until_one_socket()
            self.wait_for_devices(20)

    def test_a_restarted_plugin_is_registered_again(self):
        self.start().end()
        self.wait_for_devices(0)
        self.start()

    def test_a_killed_plugin_leaves_nothing_that_harms_the_next(self):
        self.start().end(signal.SIGKILL)
        self.assertEqual(len(self.sockets()), 1)
        self.start()
        self.wait_until_one_socket()

    def test_a_restart_in_a_container_makes_another_name(self):
        # There each of them has the pid 1, and a path that a kubelet remembers is spent.
        wrapper = ["unshare", "--pid", "--fork", "--kill-child"]
        if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("only root can make namespaces of pids")
        for _ in range(3):
            plugin = self.launch(wrapper=wrapper)
            self.wait_for_devices(20)
            plugin.end(signal.SIGKILL)
            self.wait_for_devices(0)
        names = [socket for _, socket in self.kubelet.registrations]
        self.assertEqual(len({name.rpartition("-")[0] for name in names}), 3, names)
        for name in names:
            self.assertRegex(name, r"^nvshare-gpu-1-[0-9a-f]{8}-\d+\.sock$")

    def test_two_at_once_and_the_old_one_stops(self):
        old = self.start()
        new = self.launch()
        self.wait_until(lambda: new.has_logged("kubelet listens"), "the second registration")
        # The new one has not swept the old one's socket away: it is served.
        self.assertEqual(len(self.sockets()), 2)
        before = self.kubelet.endpoints[GPU]
        self.assertEqual(old.end(), 0)
        if self.generation == "1.36":
            self.wait_until(lambda: self.kubelet.endpoints[GPU] is not before, "it came back")
        # Up to 1.36 this cuts the new one's stream: it must come back by itself.
        self.wait_for_devices(20)
        self.wait_until_one_socket()
        self.kubelet.admit("pod", nvshare_com__gpu=1)

    def test_a_kubelet_restart_deletes_the_socket_and_it_comes_back(self):
        self.start()
        for _ in range(3):
            self.kubelet.restart()
            self.wait_for_devices(20)
        self.wait_until_one_socket()

    def test_a_kubelet_that_stays_away_for_a_while(self):
        plugin = self.start()
        self.kubelet.stop()
        self.wait_until(lambda: plugin.has_logged("not registered"), "a failure")
        self.kubelet.start()
        self.wait_for_devices(20)

    def test_a_kubelet_that_comes_after_the_plugin(self):
        self.kubelet.stop()
        (self.folder / "device-plugins/kubelet.sock").unlink(missing_ok=True)
        plugin = self.launch()
        self.wait_until(lambda: plugin.has_logged("not registered"), "a failure")
        self.kubelet.start()
        self.wait_for_devices(20)

    def await_death(self):
        self.assertTrue(self.kubelet.has_died.wait(PATIENCE_S), "the kubelet lives")
        self.kubelet.has_died.clear()

    def see_it_die_and_come_back(self):
        self.await_death()
        self.kubelet.start()
        self.wait_for_devices(20)
        self.wait_until_one_socket()

    def test_a_kubelet_that_dies_before_it_has_registered_us(self):
        self.kubelet.dies_in = "Register"
        plugin = self.launch()
        self.await_death()
        self.wait_until(lambda: plugin.has_logged("not registered"), "a failure")
        self.kubelet.start()
        self.wait_for_devices(20)
        self.wait_until_one_socket()
        # And when it has us already, and we register again.
        self.kubelet.dies_in = "Register"
        plugin.process.send_signal(signal.SIGHUP)
        self.see_it_die_and_come_back()
        self.kubelet.admit("pod", nvshare_com__gpu=1)

    def test_a_kubelet_that_dies_before_it_has_listed_its_pods(self):
        # The first list, before anything is offered, and a later one.
        self.kubelet.dies_in = "List"
        plugin = self.launch()
        for _ in range(2):
            self.see_it_die_and_come_back()
            self.kubelet.dies_in = "List"
        self.await_death()
        self.wait_until(lambda: plugin.has_logged("does not say who has what"), "a warning")
        self.kubelet.start()
        self.wait_until(lambda: plugin.has_logged("the kubelet says who has what"), "a list")
        self.wait_for_devices(20)
        self.kubelet.admit("pod", nvshare_com__gpu=1)

    def test_a_kubelet_that_dies_when_it_has_asked(self):
        """The plugin answers nobody, before or after it has noticed."""
        plugin = self.start()

        def allocate():
            self.kubelet.allocate(GPU, self.kubelet.healthy(GPU)[:1])

        calls = {
            "GetPreferredAllocation": lambda: self.kubelet.choose(GPU, 1, set()),
            "Allocate": allocate,
        }
        for name, call in calls.items():
            for plugin_is in (contextlib.nullcontext, lambda: stopped(plugin.process)):
                self.kubelet.dies_in = name
                with plugin_is(), self.assertRaises(KubeletDiedError):
                    call()
                self.see_it_die_and_come_back()
        self.assertIsNone(plugin.process.poll())
        for number in range(20):
            self.kubelet.admit(f"pod-{number}", nvshare_com__gpu=1)

    def test_a_kubelet_that_dies_when_it_is_told_of_the_devices(self):
        self.kubelet.dies_in = "ListAndWatch"
        plugin = self.launch()
        for _ in range(2):
            self.see_it_die_and_come_back()
            # And when we register again.
            self.kubelet.dies_in = "ListAndWatch"
            plugin.process.send_signal(signal.SIGHUP)
        self.await_death()
        self.kubelet.start()
        self.wait_for_devices(20)
        self.kubelet.admit("pod", nvshare_com__gpu=1)

    def test_a_socket_that_somebody_removes_is_replaced(self):
        self.start()
        (name,) = self.sockets()
        (self.folder / "device-plugins" / name).unlink()
        self.wait_until(lambda: self.sockets() not in ([], [name]), "another socket")
        self.wait_for_devices(20)

    def test_a_kubelets_socket_that_is_made_anew_is_a_reason_to_register(self):
        plugin = self.start()
        # Until then it may be the kubelet that the registration under way is about.
        self.wait_until(lambda: plugin.has_logged("kubelet listens"), "the end of the first")
        before = len(self.kubelet.registrations)
        path = self.folder / "device-plugins/kubelet.sock"
        path.rename(self.folder / "aside")
        (self.folder / "aside").rename(path)
        self.wait_until(lambda: len(self.kubelet.registrations) > before, "a registration")
        self.wait_until_one_socket()
        self.wait_for_devices(20)

    def test_a_stream_that_ends_is_a_reason_to_register(self):
        self.start()
        for _ in range(2):
            endpoint = self.kubelet.endpoints[GPU]
            endpoint.stream.cancel()
            self.wait_until(lambda: self.kubelet.endpoints[GPU] is not endpoint, "a new endpoint")
            self.wait_for_devices(20)

    def test_a_plugin_that_stands_still_during_a_kubelet_restart(self):
        plugin = self.start()
        with stopped(plugin.process):
            self.kubelet.restart()
        self.wait_for_devices(20)

    def test_stopping_removes_the_socket_and_leaves_the_rest(self):
        plugin = self.start()
        other = self.folder / "device-plugins/other.sock"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(other))
            self.assertEqual(plugin.end(), 0)
        self.assertEqual(self.sockets(), [])
        self.assertTrue(other.exists())
        self.assertTrue((self.folder / "device-plugins/kubelet.sock").exists())

    def test_only_our_own_dead_sockets_are_swept(self):
        folder = self.folder / "device-plugins"
        with socket.socket(socket.AF_UNIX) as dead, socket.socket(socket.AF_UNIX) as live:
            dead.bind(str(folder / "nvshare-gpu-1-00000000-1.sock"))
            live.bind(str(folder / "nvshare-gpu-1-00000000-2.sock"))
            live.listen()
            with socket.socket(socket.AF_UNIX) as others:
                others.bind(str(folder / "nvidia-gpu.sock"))
            dead.close()
            self.start()
            names = os.listdir(folder)
        self.assertNotIn("nvshare-gpu-1-00000000-1.sock", names)
        self.assertIn("nvshare-gpu-1-00000000-2.sock", names)
        self.assertIn("nvidia-gpu.sock", names)

    def end_folder(self, plugin, end):
        """The kubelet's folder goes, and another one takes its place."""
        folder = self.folder / "device-plugins"
        self.wait_until(lambda: plugin.has_logged("kubelet listens"), "the end of the first round")
        self.kubelet.stop()
        with stopped(plugin.process):  # it would make new sockets there meanwhile
            end(folder)
            folder.mkdir()
        self.assertEqual(plugin.process.wait(PATIENCE_S), 1)
        plugin.reader.join(PATIENCE_S)
        self.assertIn("removed or replaced", plugin.log[-1])
        # Whoever starts it again has it registered.
        self.kubelet.start()
        self.start()

    def test_a_folder_that_is_removed_ends_it(self):
        self.end_folder(self.start(), shutil.rmtree)

    def test_a_folder_that_is_replaced_ends_it(self):
        self.end_folder(self.start(), lambda folder: folder.rename(self.folder / "aside"))

    def test_a_folder_that_is_removed_under_a_mount_ends_it(self):
        # As in a pod: the mount keeps the folder that it was made of, and the kernel is silent.
        folder, mounted = self.folder / "device-plugins", self.folder / "mounted"
        mounted.mkdir()
        script = f'mount --bind "{folder}" "{mounted}" && exec "$@"'
        wrapper = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]
        if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("only root can mount")
        plugin = self.launch("--kubelet-folder", mounted, wrapper=wrapper)
        self.wait_for_devices(20)
        self.end_folder(plugin, shutil.rmtree)

    def test_resources_of_memory_and_cores_are_registrations_of_their_own(self):
        self.start("--memory-ratio", "1", "--memory-unit", "512Mi", "--cores")
        self.wait_for_devices(200, "nvshare.com/gpu-core")
        self.wait_until(lambda: self.kubelet.allocatable("nvshare.com/gpu-memory"), "memory")
        options = self.kubelet.endpoints["nvshare.com/gpu-core"].options
        self.assertFalse(options.get_preferred_allocation_available)
        self.kubelet.restart()
        self.wait_for_devices(20)
        self.wait_for_devices(200, "nvshare.com/gpu-core")
        self.wait_until(lambda: self.kubelet.allocatable("nvshare.com/gpu-memory"), "memory")
        self.assertEqual(self.plugins[0].end(), 0)
        self.assertEqual(self.sockets(), [])

    def test_a_kubelet_that_never_answers_holds_nothing_up(self):
        self.kubelet.stop()
        path = self.folder / "device-plugins/kubelet.sock"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as silent:
            silent.bind(str(path))
            silent.listen()
            plugin = self.launch()
            self.wait_until(self.sockets, "a socket")
            plugin.process.send_signal(signal.SIGTERM)
            self.assertEqual(plugin.process.wait(PATIENCE_S), 0)


RegistrationsOld, RegistrationsNew = both_generations(Registrations)

if __name__ == "__main__":
    unittest.main()
