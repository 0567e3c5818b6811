# SPDX-License-Identifier: Apache-2.0
"""What a runtime makes of CDI devices, from the files of a folder. It is as strict as they are: a
file with a field that its version does not have is not loaded, and there is no container for who
names a device that no file has. Sections are those of the facts about Kubernetes."""

import json
import re

# Section 4: version 0.6.0, and of its edits those that are made here.
SPEC = {"cdiVersion", "kind", "annotations", "devices", "containerEdits"}
DEVICE = {"name", "annotations", "containerEdits"}
EDITS = {"env", "mounts"}
MOUNT = {"hostPath", "containerPath", "type", "options"}
NAME = re.compile(r"[A-Za-z0-9][-_.A-Za-z0-9]*")
KIND = re.compile(r"[A-Za-z][-_.A-Za-z0-9]*/[A-Za-z][-_A-Za-z0-9]*")


class Edits:
    """Of a container: variables that count more than the pod's, and mounts with their options."""

    def __init__(self):
        self.variables, self.mounts = {}, []

    def add(self, edits):
        check_fields(edits, EDITS)
        assert edits, "edits that edit nothing"
        for text in edits.get("env", []):
            name, is_set, value = text.partition("=")
            assert name and is_set, text
            self.variables[name] = value
        for mount in edits.get("mounts", []):
            check_fields(mount, MOUNT)
            place = mount["containerPath"]
            self.mounts = [other for other in self.mounts if other[1] != place]
            self.mounts.append((mount["hostPath"], place, mount["options"]))


def check_fields(part, known):
    assert set(part) <= known, f"{set(part) - known} in {part}"


def read_spec(path):
    """The edits for all who name a device of it, and those of each device by its whole name."""
    spec = json.loads(path.read_text("utf-8"))
    check_fields(spec, SPEC)
    assert spec["cdiVersion"] == "0.6.0", spec["cdiVersion"]
    assert KIND.fullmatch(spec["kind"]), spec["kind"]
    assert spec["devices"], f"no devices in {path}"
    devices = {}
    for device in spec["devices"]:
        check_fields(device, DEVICE)
        assert NAME.fullmatch(device["name"]), device["name"]
        whole = f"{spec['kind']}={device['name']}"
        assert whole not in devices, f"{whole} twice"
        devices[whole] = device["containerEdits"]
    return spec.get("containerEdits"), devices


def edits_of(folder, names):
    """Section 4: what is said for all devices of a file, once, and then what is said for each."""
    specs = [read_spec(path) for path in sorted(folder.glob("*.json"))] if names else []
    edits, used = Edits(), []
    for name in names:
        holders = [spec for spec in specs if name in spec[1]]
        assert len(holders) == 1, f"unresolvable CDI device {name}: in {len(holders)} files"
        (common, devices), = holders
        if common is not None and common not in used:
            used.append(common)
            edits.add(common)
        edits.add(devices[name])
    return edits
