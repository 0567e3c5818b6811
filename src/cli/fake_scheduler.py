#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `nvshare run` needs of a daemon: one a folder, a socket, and a record of how it was started.

Ends by itself as soon as a file called `stop` is in its folder.
"""

import fcntl
import json
import os
import pathlib
import resource
import socket
import sys
import time

RAISED = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC")
NUMA = pathlib.Path("/proc/self/numa_maps")

folder = pathlib.Path(sys.argv[sys.argv.index("--folder") + 1])
print("fake scheduler", os.getpid(), flush=True)
if (folder / "refuse").exists():
    print('level=error msg="no luck"', file=sys.stderr, flush=True)
    sys.exit(1)
lock = (folder / "lock").open("w", encoding="ascii")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("another one has this folder", file=sys.stderr, flush=True)
    sys.exit(1)
state = {
    "pid": os.getpid(),
    "arguments": sys.argv[1:],
    "environment": dict(os.environ),
    "files": {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)},
    "session": os.getsid(0),
    "folder": os.getcwd(),
    "status": pathlib.Path("/proc/self/status").read_text("ascii"),
    "cpus": sorted(os.sched_getaffinity(0)),
    "policy": os.sched_getscheduler(0),
    "niceness": os.getpriority(os.PRIO_PROCESS, 0),
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in RAISED},
    "numa": NUMA.read_text("ascii").split()[1] if NUMA.exists() else "default",
    "inherited": [fd for fd in map(int, os.listdir("/proc/self/fd")) if fd > 2],
}
with (folder / "starts").open("a", encoding="ascii") as starts:
    starts.write(json.dumps(state) + "\n")
(folder / "tenant").mkdir(exist_ok=True)
path = folder / "tenant" / "scheduler.sock"
path.unlink(missing_ok=True)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(str(path))
listener.listen()
while folder.exists() and not (folder / "stop").exists():
    time.sleep(0.02)
