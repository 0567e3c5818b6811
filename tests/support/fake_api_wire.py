# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as the fake API server speaks it, and what it can be told to do wrong."""

import contextlib
import dataclasses
import json
import select
import socket
import ssl
import typing

HEADER_END = b"\r\n\r\n"
HEADER_MAX = 65536


class Cut(Exception):
    """The connection ends here, in the middle of whatever it was."""


@dataclasses.dataclass(eq=False)
class Fault:
    """What goes wrong with one request. Sections are those of the facts about Kubernetes."""

    kind: str = "any"  # list, watch or any
    status: int = 0  # sections 5.1, 5.2: a refusal: 401, 403, 429, 503 ...
    reason: str = "Because"
    headers: dict = dataclasses.field(default_factory=dict)
    hang: bool = False  # section 5.2: accepts, reads, and says nothing
    stall: bool = False  # of a watch: begins to answer, and no more
    raw: bytes | None = None  # in place of an answer
    before: typing.Callable | None = None  # what happens in the world before it is answered
    torn: bool = False  # section 5.2: every byte in a packet of its own
    cut: int | None = None  # dies after so many bytes of its answer
    cut_body: int | None = None  # dies after so many bytes of what follows the headers
    stays: bool = False  # where it would die it says no more, and keeps the connection


class Connection:
    """One client, with requests one after the other."""

    def __init__(self, plain):
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.fault, self.sent = plain, Fault(), 0
        self.body_at = None  # where in the answer the body begins
        self.buffer = b""
        self.is_aborted = False

    def secure(self, context):
        if context is None:
            return
        self.socket = context.wrap_socket(self.socket, server_side=True)
        if self.is_aborted:  # while neither socket was there
            raise Cut

    def abort(self):
        """From any thread: whoever serves it finds that it has ended."""
        self.is_aborted = True
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)

    def close(self):
        self.abort()
        self.socket.close()

    def read_request(self):
        """The request line and the headers, in small letters; None when the client has left."""
        while HEADER_END not in self.buffer:
            piece = self.socket.recv(4096)
            if not piece or len(self.buffer) > HEADER_MAX:
                return None
            self.buffer += piece
        head, _, self.buffer = self.buffer.partition(HEADER_END)
        line, *rest = head.decode("latin-1").split("\r\n")
        pairs = (one.partition(":") for one in rest)
        return line, {name.lower(): value.strip() for name, _, value in pairs}

    def begin(self, fault):
        self.fault, self.sent, self.body_at = fault, 0, None

    def wait_for_end(self):
        """Until the client has had enough."""
        while self.socket.recv(4096):
            pass
        raise Cut

    def check(self):
        """Whether the client is still there; it says nothing more while it is answered."""
        if select.select([self.socket], [], [], 0)[0]:
            with contextlib.suppress(ssl.SSLWantReadError):
                if not self.socket.recv(4096):
                    raise Cut

    def _room(self):
        """How many more bytes there are until the connection is to be cut."""
        if self.fault.cut is not None:
            return self.fault.cut - self.sent
        if self.fault.cut_body is not None and self.body_at is not None:
            return self.body_at + self.fault.cut_body - self.sent
        return None

    def send(self, data):
        room = self._room()
        piece = data if room is None else data[:room]
        if self.fault.torn:
            for i in range(len(piece)):
                self.socket.sendall(piece[i : i + 1])
        else:
            self.socket.sendall(piece)
        self.sent += len(piece)
        if room is not None and len(data) >= room:
            if self.fault.stays:
                self.wait_for_end()
            raise Cut

    def _send_head(self, code, headers):
        lines = [f"HTTP/1.1 {code} {'OK' if code == 200 else 'Refused'}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.send("\r\n".join(lines).encode() + HEADER_END)
        self.body_at = self.sent
        self.send(b"")  # perhaps it ends right here

    def send_json(self, code, value, headers=None):
        body = json.dumps(value, separators=(",", ":")).encode() + b"\n"
        fixed = {"Content-Type": "application/json", "Content-Length": len(body)}
        self._send_head(code, {**fixed, **(headers or {})})
        self.send(body)

    def begin_stream(self):
        fixed = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
        self._send_head(200, fixed)

    def send_line(self, value):
        line = json.dumps(value, separators=(",", ":")).encode() + b"\n"
        self.send(f"{len(line):x}\r\n".encode() + line + b"\r\n")

    def end_stream(self):
        self.send(b"0" + HEADER_END)
