# SPDX-License-Identifier: Apache-2.0
"""A node of Kubernetes around the daemon: an API server whose pods are annotated, a device plugin
that says who has which slot, and tenants in cgroups like those of the kubelet."""

import ctypes
import json
import os
import pathlib
import platform
import signal
import socket
import sys
import threading
import time

from daemon_case import GPU, DaemonCase
from wire_client import PATIENCE_S, Client

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"))

# pylint: disable=wrong-import-position
from fake_api_server import FakeApiServer  # noqa: E402
from pod_group import PodGroup  # noqa: E402

UID = "0a1b2c3d-1111-2222-3333-444455556666"
SLOT = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10::3"
SYS_EXIT = {"x86_64": 60}.get(platform.machine(), 93)  # of the thread that calls it


def end_main_thread(go_on):
    """And only it; another thread goes on when it is over."""

    def wait():
        stat = pathlib.Path(f"/proc/{os.getpid()}/stat")
        while stat.read_text("ascii").rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.005)
        go_on()

    threading.Thread(target=wait).start()
    ctypes.CDLL(None).syscall(SYS_EXIT, 0)


class PodsCase(DaemonCase):
    uid = UID  # in the cgroup of the pod

    def setUp(self):
        super().setUp()
        try:
            self.group = PodGroup(self.uid)
        except OSError as error:
            self.skipTest(f"this machine lets us make no control group: {error}")
        self.addCleanup(self.group.remove)
        self.processes = []
        self.addCleanup(self.kill_all)
        self.server = FakeApiServer()
        self.addCleanup(self.stop_server)

    def stop_server(self):
        self.server.stop()
        self.assertEqual(self.server.violations, [])

    def start_in_cluster(self, *arguments):
        url = f"http://127.0.0.1:{self.server.port}"
        self.start("--kube-api", url, "--node-name", self.server.node, *arguments)

    def in_pod(self, action, main_thread_ends=False):
        """A process in the pod does this, says so, and waits to be killed."""
        ready, said = os.pipe()

        def live():
            try:
                answer = action()
                os.write(said, json.dumps(answer).encode() + b"\n")
                signal.pause()
            finally:
                os._exit(1)

        pid = os.fork()
        if pid == 0:
            try:
                self.group.add(os.getpid())
                if main_thread_ends:
                    end_main_thread(live)
                live()
            finally:
                os._exit(1)
        os.close(said)
        self.processes.append(pid)
        with os.fdopen(ready) as lines:
            line = lines.readline()
        self.assertTrue(line, "the process in the pod failed")
        return json.loads(line)

    def kill_all(self):
        """All that were started in the pod."""
        while self.processes:
            pid = self.processes.pop()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def tenant_in_pod(self, slot=SLOT, main_thread_ends=False, **fields):
        def action():
            self.client = Client(self.folder)  # held until the process ends
            self.client.join(0, program=b"train.py", slot=slot.encode(), **fields)
            self.client.use(GPU)

        self.in_pod(action, main_thread_ends)

    def ask_socket(self, name, **request):
        """Its answer; without a request, what it says by itself."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(PATIENCE_S)
            peer.connect(str(self.folder / name))
            if request:
                peer.sendall(json.dumps(request).encode() + b"\n")
            with peer.makefile() as lines:
                return json.loads(lines.readline())

    def say_slots(self, **request):
        """As the device plugin does."""
        answer = self.ask_socket("plugin/plugin.sock", command="slots", **request)
        self.assertTrue(answer["ok"], answer)

    def give_slot(self, pod="train", slot=SLOT, **asked):
        """To its only container, which asked for this as resources: memory_bytes, cores."""
        use = {"slot": slot, "namespace": "lab", "pod": pod, "container": "main", **asked}
        self.say_slots(begins=True, used=[use], ends=True)

    def wait_for(self, condition):
        """The first status of which it is true."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            status = self.ask(command="status")
            if condition(status):
                return status
            self.assertLess(time.monotonic(), deadline, json.dumps(status, indent=1))
            time.sleep(0.005)

    def wait_for_cores(self, value, source):
        wanted = {"value": value, "source": source}
        return self.wait_for(
            lambda status: any(one["limits"]["cores"] == wanted for one in status["tenants"])
        )
