# SPDX-License-Identifier: Apache-2.0
"""What strace -ff wrote: the system calls of each thread, and what they say about the program."""

import collections
import re
from typing import NamedTuple

CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+|\?)")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
OPENING = {"open", "openat", "openat2", "creat"}
STARTING = {"clone", "clone3", "fork", "vfork"}
# From opening a library to closing it, the loader does this and nothing else.
LOADING = {"read", "pread64", "fstat", "newfstatat", "statx", "lseek", "mmap", "mprotect", "munmap"}
WRITING = {"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "sendto", "sendmsg"}
# Ways to be seen from outside of the process.
REACHING = {"bind", "connect", "listen", "membarrier", "memfd_create", "socket", "socketpair"}


class Call(NamedTuple):
    name: str
    arguments: str
    result: str


def parse(lines):
    """The calls of one thread. Signals and exits are lines of another form."""
    for line in lines:
        if match := CALL.match(line):
            yield Call(*match.groups())
        elif match := re.match(r"(\w+)\((.*)", line):
            # The last call of a thread that ends in it.
            yield Call(match.group(1), match.group(2), "?")


def path_of(call):
    match = QUOTED.search(call.arguments)
    return match.group(1) if match else None


def without_loading(calls, library):
    """The calls but for those by which the loader brings `library` in.

    ValueError where something else is done before the file is closed again.
    """
    kept, descriptor = [], None
    for call in calls:
        if descriptor is not None:
            if call.name == "close" and call.arguments == descriptor:
                descriptor = None
            elif call.name not in LOADING:
                raise ValueError(f"{call.name}({call.arguments}) while {library} is loaded")
        elif call.name in OPENING and path_of(call) == library:
            descriptor = call.result
        else:
            kept.append(call)
    return kept


class Trace:
    """All calls of a program and of what it started."""

    def __init__(self, threads):
        self.threads = [list(thread) for thread in threads]

    @classmethod
    def read(cls, paths):
        return cls(parse(path.read_text(errors="surrogateescape").splitlines()) for path in paths)

    @property
    def calls(self):
        return [call for thread in self.threads for call in thread]

    def without_loading(self, library):
        return Trace(without_loading(thread, library) for thread in self.threads)

    def names(self):
        return collections.Counter(call.name for call in self.calls)

    def opened(self):
        """The files that were opened, or tried: path and how."""
        return collections.Counter(
            (path_of(call), call.arguments.rpartition('", ')[2])
            for call in self.calls
            if call.name in OPENING
        )

    def written(self):
        return collections.Counter(
            (call.name, call.arguments) for call in self.calls if call.name in WRITING
        )

    def started(self):
        return self.count(STARTING)

    def reached(self):
        return self.count(REACHING)

    def programs(self):
        """How many times a program was begun."""
        return sum(call.name == "execve" and call.result == "0" for call in self.calls)

    def count(self, names):
        return {name: count for name, count in self.names().items() if name in names}
