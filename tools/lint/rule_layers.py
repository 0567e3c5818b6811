# SPDX-License-Identifier: Apache-2.0
"""Who may include whom. The table is the architecture: ARCHITECTURE.md explains it."""

import cpp_text
from tree import Finding

# Each layer, and the layers below it that it may use. A layer may always use itself.
LAYERS = {
    "src/base": (),
    "src/core": ("src/base",),
    "src/wire": ("src/base",),
    "src/os": ("src/base",),
    "src/kube": ("src/base", "src/os"),
    "src/cuda_api": ("src/base",),
    "src/nvml": ("src/base", "src/cuda_api"),
    "src/cuda_sim": ("src/base", "src/cuda_api"),
    "src/interposer": ("src/base", "src/wire", "src/os", "src/cuda_api"),
    "src/daemon": (
        ("src/base", "src/core", "src/wire", "src/os", "src/kube", "src/cuda_api", "src/nvml")
    ),
    "src/cli": ("src/base", "src/wire", "src/os"),
    "src/device_plugin": ("src/base", "src/wire", "src/os", "src/kube", "src/nvml"),
    "workloads": ("src/base", "src/os", "src/cuda_api"),
    "bench": ("src/base", "src/core", "src/wire", "src/os", "src/cuda_api", "workloads"),
}
# Tests cross layers, that is what they are for; but the simulator's insides stay its own.
LAYERS["tests"] = tuple(layer for layer in LAYERS if layer != "src/cuda_sim")

# The one header of the simulator that others may include, and who they are.
SIMULATOR_API = "src/cuda_sim/test_api.h"
SIMULATOR_API_USERS = {"src/cuda_api", "workloads", "bench", "tests"}

# Single sources of truth are data, open to all.
SPEC = "spec"
INCLUDE_FOLDERS = ("src/", "", "spec/")


def layer_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "src" else parts[0]


def resolve(tree, file, name):
    """The path of a quoted include, looked up as the compiler does it; None if it is not there."""
    beside = f"{file.folder}/{name}"
    for candidate in (beside, *(folder + name for folder in INCLUDE_FOLDERS)):
        if candidate in tree.paths:
            return candidate
    return None


def problem(tree, file, include):
    """What is wrong with one include, or None."""
    if not include.quoted:
        inside = resolve(tree, file, include.name)
        return f'<{include.name}> is ours: include it as "{include.name}"' if inside else None
    if ".." in include.name.split("/"):
        return f'"{include.name}" climbs out of its folder: start at src/'
    target = resolve(tree, file, include.name)
    if target is None:
        return f'"{include.name}" is not in the repository: use <> for what is not ours'
    user, used = layer_of(file.path), layer_of(target)
    if used in (user, SPEC) or used in LAYERS.get(user, ()):
        return None
    if target == SIMULATOR_API and user in SIMULATOR_API_USERS:
        return None
    return f"{user} may not include {target}: see tools/lint/rule_layers.py"


def check(tree):
    for file in tree.cpp_files:
        if layer_of(file.path) not in LAYERS:
            yield Finding(file.path, 1, "is in no layer that tools/lint/rule_layers.py knows")
            continue
        for include in cpp_text.includes(file.text):
            if text := problem(tree, file, include):
                yield Finding(file.path, include.line, text)
