# SPDX-License-Identifier: Apache-2.0
"""What the tests of the device plugin share: a node with simulated GPUs, a kubelet, the plugin."""

import contextlib
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build").resolve()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(BUILD / "src/device_plugin/proto"))

import device_plugin_pb2 as messages  # noqa: E402
import pod_resources_pb2 as pod_messages  # noqa: E402
from fake_kubelet import FakeKubelet, grpc  # noqa: E402, F401
from fake_kubelet_container import Container, container_of  # noqa: E402, F401
from fake_kubelet_endpoint import KubeletDiedError  # noqa: E402, F401

PLUGIN = BUILD / "bin/nvshare-device-plugin"
PATIENCE_S = 60
GPU = "nvshare.com/gpu"
_NUMBERS = itertools.count()


def environment(**extra):
    ours = ("NVSHARE_", "DP_", "CONFIG_FILE", "DEVICE_LIST", "SHARED_", "JOURNAL_", "KUBERNETES_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, **extra}


def gpu_of(id_):
    return id_.split("::")[0]


class Plugin:
    """The program, and what it has logged."""

    def __init__(self, arguments, variables, wrapper=()):
        self.process = subprocess.Popen(
            [*map(str, wrapper), str(PLUGIN), *map(str, arguments)],
            env=environment(**variables),
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip())

    def has_logged(self, *words):
        return next((line for line in list(self.log) if all(word in line for word in words)), None)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        return code


class PluginCase(unittest.TestCase):
    gpus = 2
    generation = "1.36"

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="nvs-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()
        self.library = self.folder / "libnvshare.so"
        self.library.write_bytes(b"the library, version one")
        self.events = self.folder / "events"
        self.events.touch()
        machine = f"plugin-{os.getpid()}-{next(_NUMBERS)}"
        self.variables = {
            "NVSHARE_NVML": str(BUILD / "lib/sim/libnvidia-ml.so.1"),
            "NVSHARE_SIM_MACHINE": machine,
            "NVSHARE_SIM_GPUS": str(self.gpus),
            "NVSHARE_SIM_NVML_EVENTS_FILE": str(self.events),
        }
        segment = pathlib.Path(f"/dev/shm/nvshare-sim-{os.getuid()}-{machine}")
        self.addCleanup(segment.unlink, missing_ok=True)
        self.kubelet = FakeKubelet(self.folder, self.generation, messages, pod_messages)
        self.kubelet.start()
        self.kubelet.age()
        self.addCleanup(self.check_kubelet)
        self.plugins = []

    def check_kubelet(self):
        for plugin in self.plugins:
            if plugin.process.poll() is None:
                plugin.process.kill()
            plugin.process.wait(PATIENCE_S)
            plugin.reader.join(PATIENCE_S)
            plugin.process.stderr.close()
        self.kubelet.stop()
        logs = "\n--\n".join("\n".join(plugin.log) for plugin in self.plugins)
        self.assertEqual(self.kubelet.violations, [], logs)
        # No path is ever registered twice, whatever the kubelet would make of it.
        sockets = [socket for _, socket in self.kubelet.registrations]
        self.assertEqual(len(sockets), len(set(sockets)), sockets)

    # The plugin.

    def launch(self, *arguments, wrapper=(), **variables):
        """Starts the plugin and waits for nothing. `wrapper` is a command that it is given to."""
        places = {
            "--kubelet-folder": self.folder / "device-plugins",
            "--pod-resources": self.folder / "pod-resources/kubelet.sock",
            "--library": self.library,
            "--host-root": self.folder / "host",
            "--folder": self.folder / "run",
            "--cdi-folder": self.folder / "cdi",
            "--poll": 1,
        }
        flags = [word for pair in places.items() for word in pair]
        plugin = Plugin([*flags, *arguments], {**self.variables, **variables}, wrapper)
        self.plugins.append(plugin)
        return plugin

    def start(self, *arguments, resource=GPU, devices=None, **variables):
        # The kubelet knows of the end of those before, or their devices are taken for these.
        for old in list(self.kubelet.endpoints.values()):
            self.assertTrue(old.is_over.wait(PATIENCE_S), "the end of the plugin before")
        plugin = self.launch(*arguments, **variables)
        self.wait_for_devices(devices or self.gpus * 10, resource)
        return plugin

    def sockets(self):
        names = (path.name for path in (self.folder / "device-plugins").iterdir())
        return sorted(name for name in names if name.startswith("nvshare-"))

    # Waiting.

    def wait_until(self, condition, what):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            if found := condition():
                return found
            if time.monotonic() > deadline:
                logs = "\n--\n".join("\n".join(plugin.log) for plugin in self.plugins)
                self.fail(f"waited for {what}\n{logs}")
            time.sleep(0.02)

    def wait_for_devices(self, count, resource=GPU):
        self.wait_until(
            lambda: self.kubelet.allocatable(resource) == count,
            f"{count} allocatable {resource}",
        )

    def wait_until_one_socket(self):
        """The old one is dropped when the new one is registered."""
        self.wait_until(lambda: len(self.sockets()) == 1, "one socket")

    def wait_for_lists(self):
        """Until the plugin knows what the kubelet knows now: two lists that began after this."""
        before = self.kubelet.lists
        self.wait_until(lambda: self.kubelet.lists >= before + 2, "a list of pods")


class DaemonCase(PluginCase):
    """With a daemon, of which there is its socket for plugins alone."""

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


@contextlib.contextmanager
def stopped(process):
    """The process stands still in the meantime."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def both_generations(base):
    """The cases of a class, under kubelets of both generations."""
    return tuple(
        type(f"{base.__name__}_{name}", (base, PluginCase), {"generation": generation})
        for name, generation in (("Old", "1.36"), ("New", "1.37"))
    )
