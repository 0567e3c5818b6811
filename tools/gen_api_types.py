#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/deploy/api_types.json: the types of the Kubernetes API that manifests of ours use,
as Debian's package python3-kubernetes has them. The tests need the table and not the package.

usage: tools/gen_api_types.py [--verify]   exit status 77: the package is not installed
"""

import hashlib
import importlib
import inspect
import json
import pathlib
import re
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests/deploy/api_types.json"
PACKAGE = "kubernetes.client.models"
SKIPPED = 77
# Every kind that a manifest of ours may have, and the type that it is.
KINDS = {
    "v1/ConfigMap": "V1ConfigMap",
    "v1/Namespace": "V1Namespace",
    "v1/Pod": "V1Pod",
    "v1/ResourceQuota": "V1ResourceQuota",
    "v1/Service": "V1Service",
    "v1/ServiceAccount": "V1ServiceAccount",
    "apps/v1/DaemonSet": "V1DaemonSet",
    "apps/v1/Deployment": "V1Deployment",
    "batch/v1/Job": "V1Job",
    "node.k8s.io/v1/RuntimeClass": "V1RuntimeClass",
    "rbac.authorization.k8s.io/v1/ClusterRole": "V1ClusterRole",
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding": "V1ClusterRoleBinding",
    "rbac.authorization.k8s.io/v1/Role": "V1Role",
    "rbac.authorization.k8s.io/v1/RoleBinding": "V1RoleBinding",
}
# What the server fills in is nobody's to write.
OF_THE_SERVER = re.compile(r"V1\w*Status")


def prepare(folder):
    """Makes single models importable without the client, which needs half of the web."""
    for name in ("kubernetes", "kubernetes.client", PACKAGE):
        module = types.ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = module
    settings = types.ModuleType("kubernetes.client.configuration")
    settings.Configuration = type("Configuration", (), {"client_side_validation": True})
    sys.modules[settings.__name__] = settings


def file_of(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def required_fields(model):
    """Those whose setters refuse None."""
    for field in model.openapi_types:
        if "must not be `None`" in inspect.getsource(getattr(model, field).fset):
            yield model.attribute_map[field]


def add(name, table):
    if name in table or OF_THE_SERVER.fullmatch(name):
        return
    model = getattr(importlib.import_module(f"{PACKAGE}.{file_of(name)}"), name)
    fields = {model.attribute_map[field]: kind for field, kind in model.openapi_types.items()}
    needed = sorted(required_fields(model))
    table[name] = {"fields": dict(sorted(fields.items())), "required": needed}
    for kind in fields.values():
        for inner in re.findall(r"V\d\w+", kind):
            add(inner, table)


def sum_of(table):
    """By which those without the package see that nobody has changed the table by hand."""
    what = json.dumps([table["kinds"], table["types"]], sort_keys=True)
    return hashlib.sha256(what.encode()).hexdigest()


def find_package():
    for folder in map(pathlib.Path, sys.path):
        if (folder / "kubernetes/client/models").is_dir():
            return folder / "kubernetes"
    return None


def main(words):
    folder = find_package()
    if folder is None:
        print("skipped: python3-kubernetes is not installed")
        return SKIPPED
    prepare(folder)
    table = {}
    for name in KINDS.values():
        add(name, table)
    about = "Written by tools/gen_api_types.py from Debian's python3-kubernetes."
    whole = {"about": about, "kinds": KINDS, "types": dict(sorted(table.items()))}
    whole["sum"] = sum_of(whole)
    text = json.dumps(whole, indent=1) + "\n"
    if "--verify" not in words:
        TABLE.write_text(text, "utf-8")
        return 0
    if TABLE.read_text("utf-8") != text:
        print(f"{TABLE} is not what the package says; run tools/gen_api_types.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
