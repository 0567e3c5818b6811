# SPDX-License-Identifier: Apache-2.0
"""Holds one manifest against the types of the Kubernetes API: a field that is not known, one that
is missing and a value of another type are problems, as they are for the API server."""

import json
import pathlib
import re

TABLE = json.loads((pathlib.Path(__file__).parent / "api_types.json").read_text("utf-8"))

# ServiceMonitor is no type of Kubernetes: as much of it as we use, from the operator's own schema.
MONITORING = {
    "ServiceMonitor": {
        "fields": {
            "apiVersion": "str",
            "kind": "str",
            "metadata": "V1ObjectMeta",
            "spec": "ServiceMonitorSpec",
        },
        "required": ["spec"],
    },
    "ServiceMonitorSpec": {
        "fields": {
            "endpoints": "list[ServiceMonitorEndpoint]",
            "selector": "V1LabelSelector",
            "namespaceSelector": "object",
            "jobLabel": "str",
        },
        "required": ["endpoints", "selector"],
    },
    "ServiceMonitorEndpoint": {
        "fields": {"port": "str", "path": "str", "interval": "str", "honorLabels": "bool"},
        "required": [],
    },
}
KINDS = {**TABLE["kinds"], "monitoring.coreos.com/v1/ServiceMonitor": "ServiceMonitor"}
TYPES = {**TABLE["types"], **MONITORING}

SCALARS = {"str": str, "int": int, "bool": bool, "float": (int, float)}
# What the API calls IntOrString; the table has no word for it.
NUMBER_OR_NAME = {"maxUnavailable", "maxSurge", "port", "targetPort"}
QUANTITY = re.compile(r"\d+(?:\.\d+)?(?:[numkMGTPE]|[KMGTPE]i)?")
QUANTITIES = {"limits", "requests", "hard"}
WORDS = {
    ("V1HostPathVolumeSource", "type"): {"Directory", "DirectoryOrCreate", "File", "Socket"},
    ("V1PodSpec", "restartPolicy"): {"Always", "OnFailure", "Never"},
    ("V1Container", "imagePullPolicy"): {"Always", "IfNotPresent", "Never"},
    ("V1Toleration", "operator"): {"Exists", "Equal"},
    ("V1Toleration", "effect"): {"NoSchedule", "PreferNoSchedule", "NoExecute"},
    ("V1NodeSelectorRequirement", "operator"): {"In", "NotIn", "Exists", "DoesNotExist"},
    ("V1DaemonSetUpdateStrategy", "type"): {"RollingUpdate", "OnDelete"},
    ("V1SeccompProfile", "type"): {"RuntimeDefault", "Unconfined", "Localhost"},
    ("V1ScopedResourceSelectorRequirement", "operator"): {"In", "NotIn", "Exists", "DoesNotExist"},
}
NAME = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
WORD = r"[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?"
KEY = re.compile(rf"(?:[a-z0-9][-a-z0-9.]{{0,252}}/)?{WORD}", re.ASCII)
LABEL = re.compile(rf"(?:{WORD})?", re.ASCII)


def check_metadata(value, path):
    if not NAME.fullmatch(value.get("name") or value.get("generateName", "").rstrip("-")):
        yield f"{path}.name: {value.get('name')!r} is no name"
    for field, form in (("labels", LABEL), ("annotations", re.compile(".*", re.DOTALL))):
        for key, text in (value.get(field) or {}).items():
            if not KEY.fullmatch(key):
                yield f"{path}.{field}: {key!r} is no key"
            if isinstance(text, str) and not form.fullmatch(text):
                yield f"{path}.{field}.{key}: {text!r} is no value"


def check_scalar(value, kind, path):
    if kind != "bool" and isinstance(value, bool) or not isinstance(value, SCALARS[kind]):
        yield f"{path}: {value!r} is not of type {kind}"


def check_map(value, kind, path):
    """A map of texts, or of quantities, which may be written as numbers."""
    if not isinstance(value, dict):
        yield f"{path}: {value!r} is no map"
        return
    inner = kind.removeprefix("dict(str, ").removesuffix(")")
    for key, item in value.items():
        if path.rpartition(".")[2] in QUANTITIES:
            whole = isinstance(item, int) and not isinstance(item, bool)
            if not whole and not (isinstance(item, str) and QUANTITY.fullmatch(item)):
                yield f"{path}.{key}: {item!r} is no quantity"
        else:
            yield from check_value(item, inner, f"{path}.{key}")


def check_fields(value, kind, path):
    if not isinstance(value, dict):
        yield f"{path}: {value!r} is no {kind}"
        return
    known = TYPES[kind]
    for name in known["required"]:
        if value.get(name) is None:
            yield f"{path}.{name} is missing"
    for name, item in value.items():
        where = f"{path}.{name}"
        if name not in known["fields"]:
            yield f"{where}: {kind} has no such field"
        elif item is None:
            yield f"{where} is null"
        elif name in NUMBER_OR_NAME and known["fields"][name] == "object":
            if isinstance(item, bool) or not isinstance(item, (int, str)):
                yield f"{where}: {item!r} is neither a number nor a name"
        else:
            if item not in WORDS.get((kind, name), (item,)):
                yield f"{where}: {item!r} is no word for it"
            yield from check_value(item, known["fields"][name], where)


def check_value(value, kind, path):
    if kind == "object":
        return
    if kind in SCALARS:
        yield from check_scalar(value, kind, path)
    elif kind.startswith("list["):
        if not isinstance(value, list):
            yield f"{path}: {value!r} is no list"
            return
        for number, item in enumerate(value):
            yield from check_value(item, kind[len("list[") : -1], f"{path}[{number}]")
    elif kind.startswith("dict("):
        yield from check_map(value, kind, path)
    elif kind not in TYPES:
        yield f"{path}: {kind} is not ours to write"
    else:
        yield from check_fields(value, kind, path)
        if kind == "V1ObjectMeta" and isinstance(value, dict) and path.count(".") == 1:
            yield from check_metadata(value, path)


def problems(manifest):
    """Sentences, each with the path of what is wrong; none of a manifest that is right."""
    name = f"{manifest.get('apiVersion')}/{manifest.get('kind')}"
    if name not in KINDS:
        return [f"{name} is no kind that we know"]
    start = f"{manifest['kind']}/{(manifest.get('metadata') or {}).get('name')}".replace(".", "_")
    if "metadata" not in manifest:
        return [f"{start}: metadata is missing"]
    return list(check_value(manifest, KINDS[name], start))
