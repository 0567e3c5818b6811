# SPDX-License-Identifier: Apache-2.0
"""A daemon's admin socket with a node that never changes but for what it is told."""

import contextlib
import json
import os
import pathlib
import socket
import tempfile
import threading
import unittest

GIB = 1 << 30


def gpu(index, **more):
    return {
        "index": index,
        "uuid": f"GPU-{index}{index}",
        "name": "NVIDIA H200",
        "memory_bytes": 140 * GIB,
        "mig": False,
        "mode": "auto",
        "window_ms": 20.0,
        "turn_s": None,
        "holder": None,
        "waiting": 0,
        "switches": 0,
        "held_s": 0.0,
        "handover_s": 0.0,
        "loose": [],
        **more,
    }


def tenant(number, name, **more):
    use = {
        "gpu": 0,
        "state": "running",
        "used_s": 10.0,
        "waited_s": 0.5,
        "waiting_now_s": 0.0,
        "longest_wait_s": 0.02,
        "windows": 100,
        "memory_bytes": 2 * GIB,
    }
    return {
        "id": number,
        "name": name,
        "program": name,
        "pod": None,
        "namespace": None,
        "container": None,
        "priority": "normal",
        "weight": 100,
        "paused": False,
        "clients": [{"id": number, "pid": 4000 + number}],
        "gpus": [use],
        **more,
    }


class FakeDaemon:
    """Serves one folder. `requests` is what it was asked; a line in `answers`, by command, is what
    it says in place of its own answer."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.requests = []
        self.answers = {}
        self.status = {
            "version": "0.1.0",
            "folder": str(folder),
            "pid": os.getpid(),
            "uptime_s": 100.0,
            "gpus": [gpu(0, holder=1, waiting=1), gpu(1)],
            "tenants": [tenant(1, "train.py"), tenant(2, "serve.py", priority="high")],
        }
        self.intervals = [
            {"gpu": 0, "tenant": 1, "kind": "open", "start_us": 100, "end_us": 20100},
            {"gpu": 0, "tenant": 2, "kind": "wait", "start_us": 5000, "end_us": 20300},
            {"gpu": 0, "tenant": 1, "kind": "drain", "start_us": 20100, "end_us": 20300},
        ]
        self.connections = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.folder / "admin.sock"))
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """May be called again."""
        for one in (self.listener, *self.connections):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rwb") as stream:
            try:
                for line in stream:
                    stream.write(self._answer(json.loads(line)).encode() + b"\n")
                    stream.flush()
            except (OSError, ValueError):
                return

    def _answer(self, request):
        self.requests.append(request)
        command = request["command"]
        if command in self.answers:
            return self.answers[command]
        result = {}
        if command == "status":
            result = self.status
        elif command == "trace":
            names = [{"id": one["id"], "name": one["name"]} for one in self.status["tenants"]]
            keys = ("index", "uuid", "name")
            gpus = [{key: one[key] for key in keys} for one in self.status["gpus"]]
            result = {"gpus": gpus, "tenants": names, "intervals": self.intervals}
        elif command in ("pause", "resume", "priority", "weight"):
            for one in self.status["tenants"]:
                if request["tenant"] in (one["id"], one["name"]):
                    self._change(one, request)
                    return json.dumps({"ok": True, "result": {}})
            error = f"no tenant {request['tenant']!r}"
            return json.dumps({"ok": False, "code": "not_found", "error": error})
        return json.dumps({"ok": True, "result": result})

    @staticmethod
    def _change(one, request):
        if request["command"] == "priority":
            one["priority"] = request["priority"]
        elif request["command"] == "weight":
            one["weight"] = request["weight"]
        else:
            one["paused"] = request["command"] == "pause"
            one["gpus"][0]["state"] = "paused" if one["paused"] else "running"


class WithFakeDaemon(unittest.TestCase):
    """A test that has one, in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.daemon = FakeDaemon(self.folder)
        self.addCleanup(self.daemon.close)
