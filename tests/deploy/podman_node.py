# SPDX-License-Identifier: Apache-2.0
"""A node whose files are a folder: podman runs containers of a pod's spec on it, with the rights,
mounts and variables that the spec says, and with what NVIDIA's runtime puts into them, simulated.
"""

import json
import subprocess

PATIENCE_S = 60
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
# A field that is not here would be one that nothing here makes true. podman has a seccomp profile
# of its own, as runtimes have.
SECURITY = {
    "runAsUser": lambda user: [f"--user={user}"],
    "allowPrivilegeEscalation": lambda may: [] if may else ["--security-opt=no-new-privileges"],
    "readOnlyRootFilesystem": lambda is_so: ["--read-only", "--read-only-tmpfs=false"] * is_so,
    "capabilities": lambda which: [
        f"--cap-{verb}={name}" for verb in ("drop", "add") for name in which.get(verb, [])
    ],
    "seccompProfile": lambda profile: {"RuntimeDefault": []}[profile["type"]],
}


def mount(source, target, is_read_only):
    return f"--volume={source}:{target}:{'ro' if is_read_only else 'rw'}"


class Node:
    """`images` is the folder that tools/build_images.sh has filled."""

    def __init__(self, images, folder, driver):
        # What podman gives to containers otherwise is more than some machines let root have.
        self.limits = [f"--ulimit={kind}=4096:4096" for kind in ("nofile", "nproc")]
        self.images, self.folder, self.driver = images, folder, driver
        self.name = "node-1"
        self.extra = []  # flags of all containers
        self.token = folder.parent / "token"

    def podman(self, *words, check=True):
        """What it says on either stream, and its exit status."""
        places = ["--root", self.images / "store", "--runroot", self.images / "run"]
        how = ["--storage-driver=overlay", "--cgroup-manager=cgroupfs", "--runtime=runc"]
        command = ["podman", *map(str, places), *how, *map(str, words)]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout}")
        return done.stdout, done.returncode

    def start(self, name, image, arguments, *flags):
        common = ["--detach", "--pull=never", "--network=host", *self.limits, *self.extra]
        self.podman("run", f"--name={name}", *common, *flags, image, *arguments)

    def start_container(self, pod, container):
        """As the pod's spec says it."""
        said = []
        for field, value in container["securityContext"].items():
            said += SECURITY[field](value)
        said += ["--pid=host"] if pod.get("hostPID") else []
        said.append(f"--memory={container['resources']['limits']['memory'].replace('Mi', 'm')}")
        said.append(f"--entrypoint={json.dumps(container['command'])}")
        variables = {one["name"]: one.get("value", self.name) for one in container.get("env", [])}
        said += [f"--env={name}={value}" for name, value in variables.items()]
        volumes = {one["name"]: one for one in pod.get("volumes", [])}
        for one in container.get("volumeMounts", []):
            source = self.place(volumes[one["name"]])
            said.append(mount(source, one["mountPath"], one.get("readOnly", False)))
        said += self.runtime(variables.get("NVIDIA_DRIVER_CAPABILITIES", ""))
        arguments = container.get("args", [])
        self.start(container["name"], container["image"], arguments, *said)

    def place(self, volume):
        if "projected" in volume:
            return self.token
        place = self.folder / volume["hostPath"]["path"].lstrip("/")
        if volume["hostPath"]["type"] == "DirectoryOrCreate":
            place.mkdir(parents=True, exist_ok=True)
        return place

    def runtime(self, capabilities):
        """What NVIDIA's container runtime adds."""
        asked = set(capabilities.split(","))
        files = {"utility": "libnvidia-ml.so.1", "compute": "libcuda.so.1"}
        there = [file for kind, file in files.items() if kind in asked and self.driver]
        return [mount(self.driver / file, f"{LIBRARIES}/{file}", True) for file in there]

    def exit_code(self, name):
        return int(self.podman("wait", name)[0])

    def stop(self, name):
        """As the kubelet does; the exit status."""
        self.podman("stop", "--time=10", name)
        return self.exit_code(name)

    def log(self, name):
        return self.podman("logs", name)[0]

    def remove_all(self):
        self.podman("rm", "--all", "--force", "--time=0")
