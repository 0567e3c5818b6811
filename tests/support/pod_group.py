# SPDX-License-Identifier: Apache-2.0
"""Cgroups as the kubelet names them. Needs root and cgroups of version 2, if only beside version 1.
"""

import errno
import os
import pathlib
import time


def remove_when_empty(folder, patience_s=60):
    """A process that has ended may be in it for a moment more."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return folder.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


class PodGroup:
    """The cgroup of a container in a pod, as the kubelet makes them without systemd."""

    def __init__(self, uid):
        roots = (pathlib.Path("/sys/fs/cgroup"), pathlib.Path("/sys/fs/cgroup/unified"))
        root = next((each for each in roots if (each / "cgroup.procs").exists()), None)
        if root is None:
            raise FileNotFoundError("no cgroups of version 2")
        test = root / f"nvshare-pods-{os.getpid()}-{time.monotonic_ns()}"
        pod = test / "kubepods" / f"pod{uid}"
        self.container = pod / f"{os.getpid():064x}"
        self.made = []
        for folder in (test, test / "kubepods", pod, self.container):
            folder.mkdir()
            self.made.append(folder)

    def add(self, pid):
        (self.container / "cgroup.procs").write_text(str(pid))

    def remove(self):
        for folder in reversed(self.made):
            remove_when_empty(folder)
