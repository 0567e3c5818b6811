#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That the FakeKubelet treats plugins that do it wrong as real kubelets were seen to: the rows of
the table in the notes' paragraph 2.4.

usage: fake_kubelet_test.py BUILD [UNITTEST_ARGUMENT...]
"""

import concurrent.futures
import pathlib
import sys
import tempfile
import threading
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build").resolve()
sys.path.insert(0, str(BUILD / "src/device_plugin/proto"))

import device_plugin_pb2 as messages  # noqa: E402
import pod_resources_pb2 as pod_messages  # noqa: E402
from fake_kubelet import FakeKubelet, grpc  # noqa: E402

PATIENCE_S = 60
RESOURCE = "example.com/gpu"


class NaivePlugin:
    """Four devices at one socket; it registers when told and never looks back."""

    def __init__(self, path):
        self.path = path
        self.ends = threading.Event()
        handlers = {
            "GetDevicePluginOptions": grpc.unary_unary_rpc_method_handler(
                lambda *_: messages.DevicePluginOptions(),
                response_serializer=messages.DevicePluginOptions.SerializeToString,
            ),
            "ListAndWatch": grpc.unary_stream_rpc_method_handler(
                self.list_and_watch,
                response_serializer=messages.ListAndWatchResponse.SerializeToString,
            ),
        }
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        service = grpc.method_handlers_generic_handler("v1beta1.DevicePlugin", handlers)
        self.server.add_generic_rpc_handlers((service,))
        self.server.add_insecure_port(f"unix:{path}")
        self.server.start()

    def list_and_watch(self, *_):
        devices = [messages.Device(ID=f"GPU-x::{n}", health="Healthy") for n in range(4)]
        yield messages.ListAndWatchResponse(devices=devices)
        self.ends.wait()

    def register(self, kubelet, resource=RESOURCE):
        with grpc.insecure_channel(f"unix:{kubelet.plugins / 'kubelet.sock'}") as channel:
            method = channel.unary_unary(
                "/v1beta1.Registration/Register",
                request_serializer=messages.RegisterRequest.SerializeToString,
                response_deserializer=messages.Empty.FromString,
            )
            request = messages.RegisterRequest(
                version="v1beta1", endpoint=self.path.name, resource_name=resource
            )
            method(request, timeout=PATIENCE_S)

    def stop(self):
        self.ends.set()
        self.server.stop(None).wait()


class Table:
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="nvs-")
        self.addCleanup(temporary.cleanup)
        self.kubelet = FakeKubelet(temporary.name, self.generation, messages, pod_messages)
        self.kubelet.start()
        self.addCleanup(self.kubelet.stop)

    def plugin(self, name):
        plugin = NaivePlugin(self.kubelet.plugins / name)
        self.addCleanup(plugin.stop)
        return plugin

    def wait_for(self, allocatable):
        deadline = time.monotonic() + PATIENCE_S
        while self.kubelet.allocatable(RESOURCE) != allocatable:
            self.assertLess(time.monotonic(), deadline, f"waited for {allocatable} devices")
            time.sleep(0.02)

    def registered(self, name):
        plugin = self.plugin(name)
        plugin.register(self.kubelet)
        self.wait_for(4)
        return plugin

    def test_two_instances_and_the_old_one_stops(self):
        old = self.registered("old.sock")
        self.registered("new.sock")
        endpoint = self.kubelet.endpoints[RESOURCE]
        old.stop()
        if self.generation == "1.36":
            self.wait_for(0)
            self.assertTrue(endpoint.is_over.wait(PATIENCE_S))
            self.assertEqual(self.kubelet.capacity(RESOURCE), 4)
        else:
            # Nothing happens to the new one: a list of pods later it is still there.
            self.assertFalse(endpoint.is_over.wait(0.5))
            self.assertEqual(self.kubelet.allocatable(RESOURCE), 4)

    def test_twice_on_one_socket(self):
        plugin = self.registered("one.sock")
        first = self.kubelet.endpoints[RESOURCE]
        if self.generation == "1.36":
            plugin.register(self.kubelet)
            second = self.kubelet.endpoints[RESOURCE]
            self.assertEqual(self.kubelet.allocatable(RESOURCE), 4)
            # Nor does a restart on that path do any harm, once both streams are known to be over:
            # the end of either cuts whoever is registered by then.
            plugin.stop()
            for endpoint in (first, second):
                self.assertTrue(endpoint.is_over.wait(PATIENCE_S))
            self.assertEqual(self.kubelet.allocatable(RESOURCE), 0)
            self.registered("one.sock")
            return
        for _ in range(2):
            with self.assertRaisesRegex(grpc.RpcError, "already connected"):
                plugin.register(self.kubelet)
        # Stuck: the next plugin on that path fails too, and the devices stay advertised.
        plugin.stop()
        again = self.plugin("one.sock")
        with self.assertRaisesRegex(grpc.RpcError, "already connected"):
            again.register(self.kubelet)
        self.assertTrue(first.is_over.wait(PATIENCE_S))
        self.assertEqual(self.kubelet.capacity(RESOURCE), 4)
        self.assertEqual(self.kubelet.allocatable(RESOURCE), 4)
        self.kubelet.restart()
        self.plugin("two.sock").register(self.kubelet)
        self.wait_for(4)

    def test_a_pod_whose_plugin_is_gone_is_refused_at_once(self):
        """2.3: a call has no timeout, but waits for no connection either."""
        self.registered("one.sock").stop()
        self.wait_for(0)
        with self.assertRaises(grpc.RpcError) as caught:
            self.kubelet.allocate(RESOURCE, ["GPU-x::0"])
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)

    def test_a_restart_with_a_new_name(self):
        self.registered("old.sock").stop()
        self.wait_for(0)
        self.registered("new.sock")

    def test_a_kubelet_restart_and_a_plugin_that_does_nothing(self):
        self.registered("one.sock")
        self.kubelet.restart()
        self.assertFalse((self.kubelet.plugins / "one.sock").exists())
        self.assertEqual(self.kubelet.capacity(RESOURCE), 0)

    def test_names_that_are_of_kubernetes_are_refused(self):
        plugin = self.plugin("one.sock")
        names = ["gpu", "kubernetes.io/gpu", "mykubernetes.io/gpu", "requests.nvshare.com/gpu"]
        names += ["Example.com/gpu", "example.com/gpu/x", "example.com/", f"example.com/{64 * 'g'}"]
        for name in names:
            with self.assertRaisesRegex(grpc.RpcError, "the ResourceName .* is invalid"):
                plugin.register(self.kubelet, name)
        self.assertEqual(len(self.kubelet.violations), len(names))
        self.assertEqual(self.kubelet.endpoints, {})
        plugin.register(self.kubelet)
        self.wait_for(4)

    def test_strangers_calls_are_violations(self):
        with grpc.insecure_channel(f"unix:{self.kubelet.plugins / 'kubelet.sock'}") as channel:
            with self.assertRaises(grpc.RpcError):
                channel.unary_unary("/v1beta1.Registration/Unregister")(b"", timeout=PATIENCE_S)
        self.assertEqual(len(self.kubelet.violations), 1)


class OldKubelet(Table, unittest.TestCase):
    generation = "1.36"


class NewKubelet(Table, unittest.TestCase):
    generation = "1.37"


if __name__ == "__main__":
    unittest.main()
