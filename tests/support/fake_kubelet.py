# SPDX-License-Identifier: Apache-2.0
"""A FakeKubelet: the part of a kubelet that device plugins meet.

It behaves as kubelets 1.36.4 and 1.37.0-rc.1 were seen to. The paragraphs that comments name are
those of the project's notes on Kubernetes: 2.1 the calls and their fields, 2.3 what a kubelet does
around them, 2.4 how the two generations treat a plugin that registers again, 2.5 PodResources.
"""

import collections
import concurrent.futures
import contextlib
import functools
import os
import pathlib
import stat
import threading
import time

from fake_kubelet_container import Container
from fake_kubelet_endpoint import Endpoint, grpc
from fake_kubelet_rules import is_extended_resource

HEALTHY = "Healthy"
ID_MAX = 63  # 2.1: Device.ID


class FakeKubelet:
    """`generation` is "1.36" or "1.37". The messages are the modules of the two protocols."""

    def __init__(self, folder, generation, messages, pod_messages):
        assert generation in ("1.36", "1.37")
        self.generation = generation
        self.messages = messages
        self.pod_messages = pod_messages
        self.plugins = pathlib.Path(folder) / "device-plugins"
        self.pod_resources = pathlib.Path(folder) / "pod-resources"
        self.plugins.mkdir(parents=True, exist_ok=True)
        self.pod_resources.mkdir(parents=True, exist_ok=True)
        self.lock = threading.RLock()
        # pod: {container: {resource: [id]}}; the checkpoint, which outlives the process (2.3).
        self.pods = {}
        self.unlisted = set()  # (pod, container) that PodResources does not tell of
        self.violations = []
        self.registrations = []  # (resource, name of the socket), of all times
        self.lists = 0
        self.space = "default"  # of all pods
        self.refuses_lists = False
        self.empty_lists = 0  # so many are still to come
        # The next call of that name: "Register", when it has dialled the plugin, "List", or one of
        # its own, whose answer nobody takes.
        self.dies_in = None
        self.has_died = threading.Event()
        self.servers = []
        self.swept = set()  # names of sockets that it deleted
        self.forget()

    def forget(self):
        """What a process knows and its successor does not."""
        self.life = object()
        self.endpoints = {}  # resource: Endpoint, the one that counts
        self.connected = collections.defaultdict(list)  # path: Endpoints; 1.37 alone
        self.wedged = set()  # paths; 1.37 alone
        self.devices = {}  # resource: {id: Device}
        self.unhealthy = set()  # resources whose stream has ended

    # Life.

    def start(self):
        # 2.3: on start it deletes every unix socket in the folder.
        for path in self.plugins.iterdir():
            with contextlib.suppress(FileNotFoundError):  # its plugin was faster
                if stat.S_ISSOCK(path.stat().st_mode):
                    path.unlink()
                    self.swept.add(path.name)
        self.forget()
        known = functools.partial(self.register, self.life)
        register = self.handler(known, self.messages.RegisterRequest)
        self.serve(self.plugins / "kubelet.sock", "v1beta1.Registration", {"Register": register})
        lister = self.handler(self.list_pods, self.pod_messages.ListPodResourcesRequest)
        self.serve(
            self.pod_resources / "kubelet.sock", "v1.PodResourcesLister", {"List": lister}
        )

    def stop(self):
        """Dies: connections are cut, the sockets' files stay."""
        servers, self.servers = self.servers, []
        for server in servers:
            server.stop(None).wait()
        with self.lock:
            endpoints = [one for list_ in self.connected.values() for one in list_]
            endpoints += list(self.endpoints.values())
            self.forget()
        for endpoint in endpoints:
            endpoint.close()

    def die_at_once(self):
        self.dies_in = None
        self.stop()
        self.has_died.set()

    def die(self, context):
        """In a call, which is never answered."""
        is_cut = threading.Event()
        context.add_callback(is_cut.set)
        threading.Thread(target=self.die_at_once).start()
        is_cut.wait()
        context.abort(grpc.StatusCode.UNAVAILABLE, "nobody hears this")

    def restart(self):
        self.stop()
        # Its list is of pods that it knows, and those it has from the API server in a while; of
        # devices it has a checkpoint (2.3).
        self.empty_lists = 2
        self.start()

    def age(self):
        """It has been there for more than the minute in which it may not know its pods."""
        long_ago = time.time() - 61
        os.utime(self.pod_resources / "kubelet.sock", (long_ago, long_ago))

    @staticmethod
    def handler(function, request):
        return grpc.unary_unary_rpc_method_handler(
            function,
            request_deserializer=request.FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )

    def serve(self, path, service, methods):
        class Strangers(grpc.GenericRpcHandler):
            def service(_, details):  # noqa: N805
                self.violate(f"{path.name}: {details.method} was called")

        path.unlink(missing_ok=True)
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(16))
        known = grpc.method_handlers_generic_handler(service, methods)
        server.add_generic_rpc_handlers((known, Strangers()))
        assert server.add_insecure_port(f"unix:{path}")
        server.start()
        self.servers.append(server)

    def violate(self, text):
        with self.lock:
            self.violations.append(text)

    # Registration.

    def register(self, life, request, context):
        path = self.plugins / request.endpoint
        with self.lock:
            if life is not self.life:
                context.abort(grpc.StatusCode.UNAVAILABLE, "this kubelet is dead")
            self.registrations.append((request.resource_name, request.endpoint))
            if request.version != "v1beta1":
                self.violate(f"version {request.version}")
            if not is_extended_resource(request.resource_name):
                self.violate(f"the ResourceName {request.resource_name!r} is invalid")
                context.abort(grpc.StatusCode.UNKNOWN, self.violations[-1])
            if "/" in request.endpoint:
                self.violate(f"endpoint {request.endpoint} is no name of a socket")
            if not path.exists() and path.name not in self.swept:
                self.violate(f"{path.name} is registered and not served")
            # 2.4, 1.37: endpoints are known by their path. A second registration on it fails, and
            # from then on every one does, while what the first one offered stays advertised.
            if self.generation == "1.37" and (self.connected[path] or path in self.wedged):
                self.wedged.add(path)
                self.connected[path].clear()
                self.violate(f"{path.name} was registered twice")
                context.abort(
                    grpc.StatusCode.UNKNOWN, f"device plugin already connected: {path}"
                )
        endpoint = Endpoint(self, request.resource_name, path, self.messages)
        try:
            endpoint.dial()
        except grpc.RpcError as error:
            endpoint.close()
            context.abort(grpc.StatusCode.UNKNOWN, f"failed to dial device plugin: {error}")
        if self.dies_in == "Register":
            endpoint.close()
            self.die(context)
        # 2.1: kubelets trust what they ask for, older ones what the request says.
        if endpoint.options != request.options:
            self.violate(f"{path.name} says {request.options} and {endpoint.options}")
        with self.lock:
            if life is not self.life:
                endpoint.close()
                context.abort(grpc.StatusCode.UNAVAILABLE, "this kubelet is dead")
            endpoint.life = life
            self.endpoints[request.resource_name] = endpoint
            self.connected[path].append(endpoint)
            # The stream is there when the endpoint is.
            endpoint.watch()
        return self.messages.Empty()

    def wait_for_others(self, endpoint, devices):
        """What an older stream has said already may lie unread in a thread of ours."""
        ids, deadline = {device.ID for device in devices}, time.monotonic() + 20

        def is_shared():
            with self.lock:
                return any(
                    ids & set(known)
                    for other, known in self.devices.items()
                    if other != endpoint.resource and other not in self.unhealthy
                )

        while is_shared() and time.monotonic() < deadline:
            time.sleep(0.01)

    def take_devices(self, endpoint, devices):
        """2.1: each message replaces the whole list."""
        with self.lock:
            if self.endpoints.get(endpoint.resource) is not endpoint:
                return
            new = {device.ID: device for device in devices}
            if len(new) != len(devices):
                self.violate(f"{endpoint.resource}: a device is there twice")
            for device in devices:
                if len(device.ID) > ID_MAX or not device.ID:
                    self.violate(f"{endpoint.resource}: id {device.ID}")
                if device.health not in (HEALTHY, "Unhealthy"):
                    self.violate(f"{endpoint.resource}: health {device.health}")
                # 2.3: up to 1.36 ids are looked up across resources.
                for other, known in self.devices.items():
                    is_other = other != endpoint.resource and other not in self.unhealthy
                    if is_other and device.ID in known:
                        self.violate(f"{device.ID} is of {other} and {endpoint.resource}")
            self.devices[endpoint.resource] = new
            self.unhealthy.discard(endpoint.resource)

    def stream_ended(self, endpoint):
        cut = None
        with self.lock:
            if endpoint.life is not self.life:
                return  # that kubelet is dead
            if endpoint.path in self.wedged:
                return  # 2.4, 1.37: nobody is told, and what it offered stays advertised
            if endpoint in self.connected[endpoint.path]:
                self.connected[endpoint.path].remove(endpoint)
            current = self.endpoints.get(endpoint.resource)
            if self.generation == "1.36" and current is not None:
                # 2.4, 1.36: endpoints are known by their resource. Whichever stream ends, the one
                # that counts now is cut as well, and allocatable is 0.
                self.unhealthy.add(endpoint.resource)
                if current is not endpoint and not current.is_over.is_set():
                    cut = current
            elif current is endpoint:
                self.unhealthy.add(endpoint.resource)
        if cut is not None:
            cut.close()

    # What the node says of itself.

    def capacity(self, resource):
        with self.lock:
            return len(self.devices.get(resource, {}))

    def numa_nodes(self, resource):
        """2.1: of each device, the nodes that its topology names; none without one."""
        with self.lock:
            known = self.devices.get(resource, {})
            return {
                id_: [node.ID for node in device.topology.nodes]
                for id_, device in known.items()
                if device.HasField("topology")
            }

    def healthy(self, resource):
        """2.3: when a stream ends, all devices are unhealthy."""
        with self.lock:
            if resource in self.unhealthy:
                return []
            known = self.devices.get(resource, {}).values()
            return [device.ID for device in known if device.health == HEALTHY]

    def allocatable(self, resource):
        return len(self.healthy(resource))

    # Pods.

    def in_use(self, resource):
        with self.lock:
            containers = [one for pod in self.pods.values() for one in pod.values()]
            return {id_ for has in containers for id_ in has.get(resource, [])}

    def holders(self, resource):
        """Namespace, pod and container by device."""
        with self.lock:
            return {
                id_: (self.space, pod, container)
                for pod, container, has in self.listed()
                for id_ in has.get(resource, [])
            }

    def listed(self):
        """2.3: init containers are not, unless they are restarted."""
        containers = [(pod, *one) for pod, all_ in self.pods.items() for one in all_.items()]
        return [one for one in containers if one[:2] not in self.unlisted]

    def ids(self, pod, resource, container="main"):
        return self.pods[pod][container].get(resource, [])

    def admit(self, pod, **requests):
        """Starts a pod of one container. Returns the answers of Allocate by resource."""
        return self.admit_pod(pod, [Container("main", requests)])["main"]

    def admit_pod(self, pod, containers):
        """Starts a pod. Returns the answers of Allocate by container and resource."""
        answers, reusable = {}, collections.defaultdict(set)
        for container in containers:
            answers[container.name] = {}
            for name, count in container.requests.items():
                domain, _, rest = name.partition("__")
                resource = f"{domain.replace('_', '.')}/{rest.replace('_', '-')}"
                ids = self.choose(resource, count, reusable[resource])
                answers[container.name][resource] = self.allocate(resource, ids)
                self.keep(pod, container, {resource: ids})
                # 2.3: what an init container had is for those after it; others keep theirs.
                if container.kind == "init":
                    reusable[resource] |= set(ids)
                else:
                    reusable[resource] -= set(ids)
            self.keep(pod, container, {})
        return answers

    def keep(self, pod, container, ids):
        with self.lock:
            if container.kind == "init":
                self.unlisted.add((pod, container.name))
            self.pods.setdefault(pod, {}).setdefault(container.name, {}).update(ids)

    def choose(self, resource, count, reusable):
        reused = sorted(reusable, key=hash)[:count]
        if len(reused) == count:
            return reused
        free = set(self.healthy(resource)) - self.in_use(resource)
        available = sorted(free | set(reused), key=hash)
        assert len(available) >= count, f"{resource}: {len(available)} are free"
        endpoint = self.endpoints[resource]
        if not endpoint.options.get_preferred_allocation_available:
            return (reused + sorted(free, key=hash))[:count]
        request = self.messages.PreferredAllocationRequest()
        container = request.container_requests.add()
        container.available_deviceIDs.extend(available)
        container.must_include_deviceIDs.extend(reused)
        container.allocation_size = count
        # 2.3: no timeout in a kubelet; here one that no healthy plugin reaches.
        answer = endpoint.call(
            "GetPreferredAllocation", request, self.messages.PreferredAllocationResponse, 60
        )
        if len(answer.container_responses) != 1:
            self.violate(f"{len(answer.container_responses)} preferred answers to one question")
        ids = list(answer.container_responses[0].deviceIDs)
        is_exact = len(ids) == count and set(reused) <= set(ids) <= set(available)
        if not is_exact or len(set(ids)) != count:
            self.violate(f"{count} of {available} gave {ids}")
        return ids

    def allocate(self, resource, ids):
        """2.1: exactly one container a call."""
        request = self.messages.AllocateRequest()
        request.container_requests.add().devices_ids.extend(ids)
        answer = self.endpoints[resource].call(
            "Allocate", request, self.messages.AllocateResponse, 60
        )
        if len(answer.container_responses) != 1:
            self.violate(f"{len(answer.container_responses)} answers to one container")
        return answer.container_responses[0]

    def end(self, pod):
        with self.lock:
            self.unlisted -= {(pod, container) for container in self.pods.pop(pod)}

    # PodResources.

    def list_pods(self, _, context):
        if self.dies_in == "List":
            self.die(context)
        with self.lock:
            self.lists += 1
            if self.refuses_lists:
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests")
            answer = self.pod_messages.ListPodResourcesResponse()
            if self.empty_lists > 0:
                self.empty_lists -= 1
                return answer
            pods = {
                name: answer.pod_resources.add(name=name, namespace=self.space)
                for name in self.pods
            }
            for name, container, resources in self.listed():
                has = pods[name].containers.add(name=container)
                for resource, ids in resources.items():
                    has.devices.add(resource_name=resource, device_ids=ids)
            return answer
