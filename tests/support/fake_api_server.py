# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server for tests, as far as pods of one node are listed and watched.

It works, over a store of pods with versions and a history; and it is strict: whatever a request has
that is not expected here is a violation, and the test that finds one fails. Sections are those of
the facts about Kubernetes that were tried on a real server (kube-apiserver 1.36).
"""

import base64
import contextlib
import json
import socket
import threading
import time
import urllib.parse
import weakref

from fake_api_rules import wrong_parts
from fake_api_wire import Connection, Cut, Fault

__all__ = ["FakeApiServer", "Fault", "Pod"]

PATIENCE_S = 60


def status(code, reason, message, **more):
    """The Status object with which a server refuses."""
    fixed = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**fixed, "message": message, "reason": reason, "code": code, **more}


class Pod:
    """What the server keeps of a pod: its metadata as it is sent, and the node that it is on."""

    def __init__(self, uid, name, node, mirror):
        self.uid, self.name, self.node = uid, name, node
        self.annotations = {}  # those for nvshare
        self.others = {"other/key": "x"}
        if mirror:  # as the kubelet's pictures of pods that it has from files have them
            keys = {"hash": mirror, "mirror": mirror, "source": "file"}
            self.others |= {f"kubernetes.io/config.{key}": text for key, text in keys.items()}
        self.touches = 0  # its status changed so often

    def metadata(self, version):
        return {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {
                "name": self.name,
                "namespace": "lab",
                "uid": self.uid,
                "resourceVersion": str(version),
                "labels": {"touches": str(self.touches)},
                "annotations": {**self.others, **self.annotations},
            },
        }


class FakeApiServer:
    """Serves on a port of its own from start() to stop(); may be started again on the same one."""

    def __init__(self, node="node-1", tls=None, address="127.0.0.1"):
        self.node, self.tls, self.address = node, tls, address
        self.timeouts = range(300, 601)  # section 5.1: what a watch may ask for
        self.tokens = set()  # those that are good; none: nobody needs one
        self.gone_as_status = False  # 410 on a watch as a status, not as a line
        self.violations, self.requests, self.port = [], [], 0
        self.lock = threading.Condition()
        self.version, self.compacted = 100, 0
        self.pods, self.history, self.snapshots = {}, [], {}
        self.faults, self.marks, self.ends = [], [], 0
        self.place, self.listener, self.connections = None, None, set()

    # What tests do to the world.

    def put(self, name, node=None, uid=None, mirror=None, **annotations):
        """Makes a pod, or changes the annotations of one; those named with _ are for nvshare.
        `mirror`: the uid on its node of a pod that the kubelet has from a file."""
        ours = {f"nvshare.com/{key.replace('_', '-')}": text for key, text in annotations.items()}
        with self.lock:
            old = self.pods.get(name)
            if old is None:
                self.pods[name] = Pod(uid or f"uid-{name}", name, node or self.node, mirror)
            self.pods[name].annotations = ours
            self._record("MODIFIED" if old else "ADDED", self.pods[name])

    def touch(self, name):
        """Something of a pod changes that is not its annotations."""
        with self.lock:
            self.pods[name].touches += 1
            self._record("MODIFIED", self.pods[name])

    def delete(self, name):
        with self.lock:
            self._record("DELETED", self.pods.pop(name))

    def _record(self, kind, pod):
        self.version += 1
        self.history.append((self.version, kind, pod.node, pod.metadata(self.version)))
        self.lock.notify_all()

    def bookmark(self):
        """Every watch hears what version it is now (section 5.2)."""
        with self.lock:
            self.marks.append(self.version)
            self.lock.notify_all()

    def end_watches(self):
        """In good order, as servers do it after 30 to 60 minutes (section 5.2)."""
        with self.lock:
            self.ends += 1
            self.lock.notify_all()

    def compact(self):
        """The history up to now is forgotten: who asks for it gets 410 (section 5.1)."""
        with self.lock:
            self.compacted = self.version
            self.history, self.snapshots = [], {}

    def restore(self, version):
        """The store is one of an earlier time: versions that were given out are yet to come."""
        with self.lock:
            self.version, self.compacted, self.history = version, 0, []

    def fault(self, **what):
        """What goes wrong with the next request of its kind that nothing is said about yet."""
        with self.lock:
            self.faults.append(Fault(**what))

    # What tests wait for.

    def wait(self, condition, what):
        with self.lock:
            if not self.lock.wait_for(condition, PATIENCE_S):
                raise AssertionError(f"never: {what}; requests: {self.requests}")

    def count(self, kind):
        return sum(1 for request in self.requests if request["kind"] == kind)

    def wait_for(self, kind, count):
        self.wait(lambda: self.count(kind) >= count, f"{count} of {kind}")

    # Serving.

    def start(self):
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        if self.place is None:
            self._take_place(family)
        self.listener = socket.create_server((self.address, self.port), family=family, backlog=64)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()
        return self

    def _take_place(self, family):
        """A port that is ours until we are no more. While we are down whoever connects is refused:
        this socket has it without listening, so that the kernel gives it to nobody else."""
        self.place = socket.socket(family)
        weakref.finalize(self, self.place.close)
        self.place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.place.bind((self.address, 0))
        self.port = self.place.getsockname()[1]

    def stop(self):
        """As if killed: connections break."""
        with self.lock:
            listener, self.listener = self.listener, None
            connections, self.connections = self.connections, set()
            self.lock.notify_all()
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in connections:
            connection.abort()

    def _accept(self, listener):
        while True:
            try:
                plain = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(plain, listener), daemon=True).start()

    def _serve(self, plain, listener):
        connection = Connection(plain)
        with self.lock:
            self.connections.add(connection)
            is_stopped = self.listener is not listener
        try:
            connection.secure(self.tls)
            while not is_stopped and (request := connection.read_request()) is not None:
                self._answer(connection, *request)
        except (OSError, Cut):
            pass  # a client leaves at any time; one that does not believe our certificate does
        except Exception as error:  # pylint: disable=broad-except
            self.violations.append(repr(error))
        finally:
            with self.lock:
                self.connections.discard(connection)
            connection.close()

    def _answer(self, connection, line, headers):
        method, _, rest = line.partition(" ")
        target = rest.removesuffix(" HTTP/1.1")
        path, _, text = target.partition("?")
        query = dict(urllib.parse.parse_qsl(text, keep_blank_values=True))
        kind = "watch" if "watch" in query else "list"
        token = headers.get("authorization", "").removeprefix("Bearer ")
        with self.lock:
            self.requests.append({"kind": kind, "query": query, "token": token})
            wrong = wrong_parts(method, path, text, headers, self.node, self.timeouts)
            if wrong:
                self.violations.append(f"{wrong} in {line} {headers}")
            matching = [one for one in self.faults if one.kind in (kind, "any")]
            fault = matching[0] if matching else Fault()
            if matching:
                self.faults.remove(fault)
            moment = (self.version, self.compacted, len(self.marks), self.ends)
            self.lock.notify_all()
            is_known = not self.tokens or token in self.tokens
        connection.begin(fault)
        if fault.before is not None:
            fault.before()
        if fault.hang:  # section 5.2: a server, or a link, that is half dead
            return connection.wait_for_end()
        if fault.raw is not None:
            connection.send(fault.raw)
            raise Cut
        if fault.status:
            refusal = status(fault.status, fault.reason, "because the test says so")
            return connection.send_json(fault.status, refusal, fault.headers)
        if not is_known:  # section 5.1
            return connection.send_json(401, status(401, "Unauthorized", "Unauthorized"))
        if kind == "watch":
            return self._watch(connection, query, moment)
        return self._list(connection, query)

    def _list(self, connection, query):
        """Section 5.1: pages of one moment, or 410 with a token for those who do not mind."""
        limit = int(query["limit"])
        with self.lock:
            if "continue" in query:
                version, begin = json.loads(base64.urlsafe_b64decode(query["continue"]))
                pods = self.snapshots.get(version)
            else:
                version, begin = self.version, 0
                here = [one for one in self.pods.values() if one.node == self.node]
                pods = [one.metadata(version) for one in here]
                self.snapshots[version] = pods
        if pods is None:
            more = {"metadata": {"continue": "inconsistent"}}
            refusal = status(410, "Expired", "The provided continue parameter is too old.", **more)
            return connection.send_json(410, refusal)
        metadata = {"resourceVersion": str(version)}
        if begin + limit < len(pods):
            token = json.dumps([version, begin + limit]).encode()
            metadata["continue"] = base64.urlsafe_b64encode(token).decode()
        page = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
        page |= {"metadata": metadata, "items": pods[begin : begin + limit]}
        return connection.send_json(200, page)

    def _watch(self, connection, query, moment):
        """Section 5.1: one line an event, from a version that is still known. `moment`: when the
        request was counted, and tests went on."""
        version = int(query["resourceVersion"])
        until = time.monotonic() + int(query["timeoutSeconds"])
        now, compacted, marks, ends = moment
        is_gone, is_to_come = version < compacted, version > now
        gone = status(410, "Expired", f"too old resource version: {version} ({compacted})")
        if is_to_come:  # section 5.1: hangs silently
            return connection.wait_for_end()
        if is_gone and self.gone_as_status:
            return connection.send_json(410, gone)
        connection.begin_stream()
        if connection.fault.stall:
            return connection.wait_for_end()
        if is_gone:
            connection.send_line({"type": "ERROR", "object": gone})
            return connection.end_stream()
        while True:
            with self.lock:
                lines = [
                    (number, {"type": kind, "object": shown})
                    for number, kind, node, shown in self.history
                    if number > version and node == self.node
                ]
                version = max([version, *(number for number, _, _, _ in self.history)])
                for mark in self.marks[marks:]:
                    metadata = {"resourceVersion": str(mark)}
                    shown = {"kind": "PartialObjectMetadata", "metadata": metadata}
                    lines.append((mark, {"type": "BOOKMARK", "object": shown}))
                marks = len(self.marks)
                is_over = self.ends != ends or time.monotonic() >= until
                if not lines and not is_over:
                    connection.check()
                    self.lock.wait(0.1)
                    continue
            for _, line in lines:
                connection.send_line(line)
            if is_over:
                return connection.end_stream()
