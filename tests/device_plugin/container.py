# SPDX-License-Identifier: Apache-2.0
"""A container as a runtime makes one from what Allocate answers: a mount namespace over the
machine's own files, a cgroup named as the kubelet names them, variables. Needs root."""

import os
import subprocess

from cdi_edits import edits_of

SETUP = """set -e
echo $$ > "$1"
shift
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
root=$1/root
for each in $2; do mount --rbind "$each" "$root$each"; done
shift 2
while [ "$1" != -- ]; do
  # Links are followed inside: /var/run is one to /run.
  place=$root$(chroot "$root" realpath -m "$2")
  if [ -d "$1" ]; then mkdir -p "$place"; else mkdir -p "$(dirname "$place")"; touch "$place"; fi
  mount --bind "$1" "$place"
  mount -o "remount,bind,$3" "$place"
  shift 3
done
shift
exec chroot "$root" "$@"
"""


def missing():
    """Why there can be no containers here; empty if there can."""
    if os.getuid() != 0:
        return "only root can make containers"
    overlay = "mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt/r"
    words = f"mount -t tmpfs tmpfs /mnt && mkdir /mnt/u /mnt/w /mnt/r && {overlay}"
    command = ["unshare", "--mount", "sh", "-c", words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode != 0 else ""


def start(place, group, answer, cdi_folder, command, environment, shared=()):
    """The command in a container with what Allocate answered. `environment` is the node's and the
    pod's, `shared` are folders that are as they are outside."""
    place.mkdir()
    edits = edits_of(cdi_folder, [device.name for device in answer.cdi_devices])
    mounts = [(one.host_path, one.container_path, ["ro"]) for one in answer.mounts]
    assert all(one.read_only for one in answer.mounts), answer.mounts
    words = []
    for source, target, options in mounts + edits.mounts:
        words += [source, target, ",".join(word for word in options if word != "bind")]
    # The pod's own variables count more than the plugin's, and CDI's more than the pod's.
    variables = {**dict(answer.envs), **environment, **edits.variables}
    inside = ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    shown = " ".join(["/proc", "/sys", "/dev", *map(str, shared)])
    wrapped = ["unshare", "--mount", "--propagation", "private", "bash", "-c", SETUP, "container"]
    processes = group.container / "cgroup.procs"
    return subprocess.Popen(
        [*wrapped, str(processes), str(place), shown, *words, "--", *inside, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
