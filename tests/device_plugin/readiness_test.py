#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When the plugin says that it is well, and what it offers without a daemon.

usage: readiness_test.py BUILD [UNITTEST_ARGUMENT...]
"""

import http.client
import re
import unittest

from plugin_case import GPU, PATIENCE_S, DaemonCase

SILENCE = "nvshare-scheduler has not answered yet"


def status():
    return {"pid": 7, "uptime_s": 5}


class Probes(DaemonCase):
    def get(self, path, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request(method, path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def launch_with_probes(self):
        plugin = self.launch("--probes", "127.0.0.1:0")
        line = self.wait_until(lambda: plugin.has_logged("probes are answered"), "a port")
        self.port = int(re.search(r"port=(\d+)", line)[1])
        return plugin

    def wait_until_ready(self):
        self.wait_until(lambda: self.get("/readyz") == (200, "ok\n"), "readiness")

    def test_it_is_alive_and_ready_when_the_kubelet_listens(self):
        self.kubelet.stop()
        with self.serving_daemon(status):
            self.launch_with_probes()
            self.assertEqual(self.get("/healthz"), (200, "ok\n"))
            unregistered = (503, "nvshare.com/gpu is not registered\n")
            self.wait_until(lambda: self.get("/readyz") == unregistered, "the daemon's answer")
            self.kubelet.start()
            self.wait_for_devices(20)
            self.wait_until_ready()
            self.assertEqual(self.get("/")[0], 404)
            self.assertEqual(self.get("/healthz", "POST")[0], 405)
            self.kubelet.stop()
            self.wait_until(lambda: self.get("/readyz")[0] == 503, "the end of readiness")
            self.assertEqual(self.get("/healthz")[0], 200)

    def test_it_is_ready_when_the_daemon_answers(self):
        self.launch_with_probes()
        self.wait_for_devices(20)
        self.wait_until(lambda: self.get("/readyz")[1].startswith(SILENCE + ": "), "the reason")
        self.assertEqual(self.get("/readyz")[0], 503)
        self.assertEqual(self.get("/healthz")[0], 200)
        with self.serving_daemon(status):
            self.wait_until_ready()

    def test_a_short_absence_of_the_daemon_is_no_reason(self):
        plugin = self.launch_with_probes()
        silences = 0

        def noticed():
            return sum("the daemon is not told who has what" in line for line in plugin.log)

        for _ in range(2):
            with self.serving_daemon(status):
                self.wait_until_ready()
                self.wait_until(lambda: self.questions > 0, "a question")  # it was ready before
                silences = noticed()
            self.wait_until(lambda: noticed() > silences, "a silence")
            self.assertEqual(self.get("/readyz"), (200, "ok\n"))
        # Now it stays away.
        self.wait_until(lambda: self.get("/readyz")[0] == 503, "the end of readiness")
        self.assertIn("nvshare-scheduler does not answer: ", self.get("/readyz")[1])


class WithoutDaemon(DaemonCase):
    def test_devices_are_given_away_unless_somebody_says_otherwise(self):
        self.start()
        self.kubelet.admit("pod", nvshare_com__gpu=1)

    def test_where_one_is_required_nothing_is_given_away_before_it_answers(self):
        plugin = self.launch("--require-scheduler", "--cores")
        self.wait_until(lambda: self.kubelet.capacity(GPU) == 20, "devices")
        self.wait_until(lambda: self.kubelet.capacity("nvshare.com/gpu-core") == 200, "cores")
        self.assertTrue(plugin.has_logged("all devices are unhealthy", SILENCE), plugin.log)
        self.wait_for_lists()
        self.assertEqual(self.kubelet.allocatable(GPU), 0)
        self.assertEqual(self.kubelet.allocatable("nvshare.com/gpu-core"), 0)
        with self.serving_daemon(status):
            self.wait_for_devices(20)
            self.wait_for_devices(200, "nvshare.com/gpu-core")
        # An upgrade of it takes seconds.
        self.wait_for_lists()
        self.assertEqual(self.kubelet.allocatable(GPU), 20)

    def test_a_socket_that_nobody_answers_at_is_no_daemon(self):
        with self.serving_daemon(None):
            self.launch("--require-scheduler")
            self.wait_until(lambda: self.kubelet.capacity(GPU) == 20, "devices")
            self.assertEqual(self.kubelet.allocatable(GPU), 0)

    def test_a_restart_beside_a_daemon_makes_no_device_unhealthy(self):
        seen = set()
        take = self.kubelet.take_devices

        def watch(endpoint, devices):
            seen.update(device.health for device in devices)
            take(endpoint, devices)

        self.kubelet.take_devices = watch
        with self.serving_daemon(status):
            for _ in range(2):
                self.start("--require-scheduler").end()
                self.wait_for_devices(0)
        self.assertEqual(seen, {"Healthy"})


if __name__ == "__main__":
    unittest.main()
