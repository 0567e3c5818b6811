# SPDX-License-Identifier: Apache-2.0
"""Cgroups as the kubelet names them. Needs root, and cgroups of the version that is asked for."""

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

    ROOTS = {1: ("pids", "devices", "memory"), 2: (".", "unified")}

    def __init__(self, uid, version=2):
        roots = (pathlib.Path("/sys/fs/cgroup") / name for name in self.ROOTS[version])
        root = next((each for each in roots if self.is_root(each, version)), None)
        if root is None:
            raise FileNotFoundError(f"no cgroups of version {version}")
        test = root / f"nvshare-pods-{os.getpid()}-{time.monotonic_ns()}"
        pod = test / "kubepods" / f"pod{uid}"
        self.container = pod / f"{os.getpid():064x}"
        self.made = []
        for folder in (test, test / "kubepods", pod, self.container):
            folder.mkdir()
            self.made.append(folder)

    @staticmethod
    def is_root(folder, version):
        """Only version 1 lets single threads be moved, in each of its groups."""
        has_groups = (folder / "cgroup.procs").exists()
        return has_groups and (folder / "tasks").exists() == (version == 1)

    def add(self, pid):
        (self.container / "cgroup.procs").write_text(str(pid))

    def remove(self):
        for folder in reversed(self.made):
            remove_when_empty(folder)
