# SPDX-License-Identifier: Apache-2.0
"""What a FakeKubelet has of each plugin that registered."""

import contextlib
import os
import threading

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc  # noqa: E402

DIAL_S = 10  # 2.3: dial 10 s
HEARD_S = 0.2  # a question has reached a plugin by then


class KubeletDiedError(Exception):
    """In a call of its own."""


class Endpoint:
    """One plugin that has registered, and the stream of its devices."""

    def __init__(self, kubelet, resource, path, messages):
        self.kubelet = kubelet
        self.resource = resource
        self.path = path
        self.channel = grpc.insecure_channel(
            f"unix:{path}", options=[("grpc.use_local_subchannel_pool", 1)]
        )
        self.messages = messages
        self.options = None
        self.stream = None
        self.life = None  # of the kubelet that it registered with
        self.is_over = threading.Event()

    def call(self, name, request, answer, timeout, waits=False):
        """Fails at once where nobody is connected, as a kubelet's calls do, unless it `waits`."""
        method = self.channel.unary_unary(
            f"/v1beta1.DevicePlugin/{name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        if self.kubelet.dies_in == name:
            # A plugin that runs has answered by then, and one that is stopped finds the question.
            with contextlib.suppress(grpc.FutureTimeoutError):
                method.future(request).result(HEARD_S)
            self.kubelet.die_at_once()
            raise KubeletDiedError(name)
        return method(request, timeout=timeout, wait_for_ready=waits)

    def dial(self):
        """2.1: the kubelet calls this during Register and trusts it."""
        empty = self.messages.Empty()
        answer = self.messages.DevicePluginOptions
        self.options = self.call("GetDevicePluginOptions", empty, answer, DIAL_S, waits=True)

    def watch(self):
        method = self.channel.unary_stream(
            "/v1beta1.DevicePlugin/ListAndWatch",
            request_serializer=self.messages.Empty.SerializeToString,
            response_deserializer=self.messages.ListAndWatchResponse.FromString,
        )
        self.stream = method(self.messages.Empty())
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        try:
            for message in self.stream:
                if self.kubelet.dies_in == "ListAndWatch":
                    self.kubelet.die_at_once()
                self.kubelet.wait_for_others(self, message.devices)
                self.kubelet.take_devices(self, message.devices)
        except grpc.RpcError:
            pass
        self.kubelet.stream_ended(self)
        self.is_over.set()  # all of it is known by then

    def close(self):
        if self.stream is not None:
            self.stream.cancel()
        self.channel.close()
