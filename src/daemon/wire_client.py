# SPDX-License-Identifier: Apache-2.0
"""A scripted client of nvshare-scheduler: messages by name, in the bytes of the protocol.

The messages are read from spec/wire_messages.def, so that nothing here can differ from it.
"""

import os
import pathlib
import re
import socket
import struct
from typing import NamedTuple

SPEC = pathlib.Path(__file__).resolve().parents[2] / "spec" / "wire_messages.def"
VERSION, OLDEST_VERSION = 2, 1
PAUSED, LIMITS_OF_RUN, MEMORY_OF_RUN = 1, 2, 4  # HelloFlag
GATE_OPEN = 1  # UseGpuFlag
BOUNDED, AWAITED = 1, 2  # OpenFlag
GOODBYE_VERSION, GOODBYE_GARBAGE, GOODBYE_TOO_MANY, GOODBYE_STOPPING = 1, 2, 3, 4
# Only a test that fails waits so long.
PATIENCE_S = 60
_ROW = re.compile(r"^NVS_(MESSAGE|FIELD|TEXT|BYTES)\(([^)]*)\)")
HEADER = struct.Struct("<HHI")


class Shape(NamedTuple):
    number: int
    fields: tuple  # (name, struct code)

    @property
    def struct(self):
        return struct.Struct("<" + "".join(code for _, code in self.fields))


def read_shapes():
    shapes = {}
    for line in SPEC.read_text(encoding="utf-8").splitlines():
        row = _ROW.match(line)
        if not row:
            continue
        kind, words = row.group(1), [word.strip() for word in row.group(2).split(",")]
        if kind == "MESSAGE":
            shapes[words[0]] = Shape(int(words[1]), ())
            continue
        name, code = (words[2], {"u32": "I", "u64": "Q"}[words[1]]) if kind == "FIELD" else (
            words[1], f"{words[2]}s")
        shape = shapes[words[0]]
        shapes[words[0]] = shape._replace(fields=shape.fields + ((name, code),))
    return shapes


SHAPES = read_shapes()
NAMES = {shape.number: name for name, shape in SHAPES.items()}


class Message(NamedTuple):
    name: str
    fields: dict

    def __getattr__(self, field):
        return self.fields[field]


def encode(name, version=VERSION, **given):
    shape = SHAPES[name]
    values = [given.pop(field, b"" if code.endswith("s") else 0) for field, code in shape.fields]
    assert not given, f"{name} has no {list(given)}"
    body = shape.struct.pack(*values)
    return HEADER.pack(version, shape.number, HEADER.size + len(body)) + body


def decode(packet):
    _, number, length = HEADER.unpack_from(packet)
    assert length == len(packet), f"a length of {length} in a packet of {len(packet)}"
    name = NAMES[number]
    values = SHAPES[name].struct.unpack(packet[HEADER.size :])
    fields = {}
    for (field, code), value in zip(SHAPES[name].fields, values):
        is_text = code.endswith("s") and field not in ("uuid", "token")
        fields[field] = value.rstrip(b"\0").decode() if is_text else value
    return Message(name, fields)


class Client:
    """A connection. Clients with different `run` are different tenants, even in one process."""

    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(str(folder / "tenant" / "scheduler.sock"))
        # Names of messages that are passed over. An account is of use to tests about it alone.
        self.ignored = ("MemoryAccount",)

    def close(self):
        self.socket.close()

    def send(self, name, **fields):
        self.socket.send(encode(name, **fields))

    def send_bytes(self, packet):
        self.socket.send(packet)

    def receive(self):
        """The next message; None at the end of the connection."""
        while (message := self._receive_any()) and message.name in self.ignored:
            pass
        return message

    def _receive_any(self):
        try:
            packet = self.socket.recv(4096)
        except ConnectionResetError:
            # The kernel says first that not all was read that we sent, and then what was.
            packet = self.socket.recv(4096)
        return decode(packet) if packet else None

    def receive_with_file(self):
        """The next message, and the descriptor that came with it, or None."""
        while True:
            packet, files, _, _ = socket.recv_fds(self.socket, 4096, 1)
            message = decode(packet) if packet else None
            if message is None or message.name not in self.ignored:
                return message, files[0] if files else None
            for file in files:
                os.close(file)

    def expect(self, name, **fields):
        """The next message, which must be this one with these fields."""
        message = self.receive()
        assert message is not None, f"the connection ended before {name}"
        got = {field: message.fields[field] for field in fields} if message.name == name else {}
        assert message.name == name and got == fields, f"{message}, not {name} {fields}"
        return message

    def expect_end(self):
        message = self.receive()
        assert message is None, f"{message}, not the end"

    def ping(self, number):
        """A round trip: whatever the daemon had sent before has arrived."""
        self.send("Ping", number=number)
        self.expect("Pong", number=number)

    def join(self, run, program=b"test", **fields):
        self.send("Hello", run=run, program=program, **fields)
        return self.expect("Welcome")

    def use(self, uuid, ordinal=0, known=1, **fields):
        self.send("UseGpu", ordinal=ordinal, uuid=uuid, **fields)
        self.expect("GpuKnown", ordinal=ordinal, known=known)

    def want(self, ordinal=0):
        self.send("Want", ordinal=ordinal)

    def drained(self, grant, waiting=0, ordinal=0):
        self.send("Drained", ordinal=ordinal, waiting=waiting, grant=grant)

    def expect_open(self, ordinal=0):
        """The grant of the window that opens. Terms of windows may change before or after."""
        return self.expect("Open", ordinal=ordinal).grant

    def expect_close(self, grant, ordinal=0):
        """Close, after any number of new terms for the same grant."""
        while (message := self.receive()) and message.name == "Open":
            assert message.grant == grant, f"{message} while {grant} is open"
        assert message and message.name == "Close" and message.grant == grant, f"{message}"
        assert message.ordinal == ordinal, f"{message}"
