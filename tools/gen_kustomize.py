#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manifests of deploy/kustomize that are the chart's, so that the two cannot differ.

usage: tools/gen_kustomize.py [--verify]   exit status 77: python3-yaml is not installed
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
KUSTOMIZE = ROOT / "deploy/kustomize"
SKIPPED = 77
HEADER = "# Written by tools/gen_kustomize.py from the chart; change deploy/helm/nvshare instead.\n"
# Which of the chart's files, with which values, go where.
BASE_FILES = ("scheduler.yaml", "device-plugin.yaml", "rbac.yaml", "quota.yaml")
NODE_LABELS = {"nodeLabels": "nfd"}
OPENSHIFT = {"openshift": {"scc": "privileged"}}
MONITORING = {"metrics": {"enabled": True, "serviceMonitor": {"enabled": True}}}

sys.path.insert(0, str(ROOT / "tools/helm"))


def without_hooks(manifest):
    """What Helm is told by annotations means nothing here."""
    annotations = manifest["metadata"].get("annotations", {})
    kept = {key: text for key, text in annotations.items() if not key.startswith("helm.sh/")}
    manifest["metadata"].pop("annotations", None)
    if kept:
        manifest["metadata"]["annotations"] = kept
    return manifest


def dump(documents):
    import template_functions  # needs python3-yaml
    import yaml

    options = {"Dumper": template_functions.Dumper, "sort_keys": False, "width": 1_000_000}
    return HEADER + yaml.dump_all(documents, **options)


def write_yaml(manifests):
    return dump(map(without_hooks, manifests))


def cleanup_of(chart, texts):
    """The pods that remove what is left on nodes; who waits for them is Helm's alone."""
    manifests = chart.load_documents(texts["cleanup.yaml"])
    return next(one for one in manifests if one["kind"] == "DaemonSet")


def cleanup_patch(old, new):
    """Makes the one from the other: in what its script does, and the volumes that it has for it."""
    at = "/spec/template/spec"
    old, new = (one["spec"]["template"]["spec"] for one in (old, new))
    (before,), (after,) = old["initContainers"], new["initContainers"]
    patch = [{"op": "test", "path": f"{at}/initContainers/0/args", "value": before["args"]}]
    patch.append({"op": "replace", "path": f"{at}/initContainers/0/args", "value": after["args"]})
    lists = (
        (f"{at}/initContainers/0/volumeMounts/-", before["volumeMounts"], after["volumeMounts"]),
        (f"{at}/volumes/-", old["volumes"], new["volumes"]),
    )
    for path, had, has in lists:
        added = [one for one in has if one not in had]
        patch += [{"op": "add", "path": path, "value": one} for one in added]
    return patch


def bindings_of_scc(manifests):
    """Who may use OpenShift's security context constraints."""
    role = "system:openshift:scc:" + OPENSHIFT["openshift"]["scc"]
    return [one for one in manifests if one.get("roleRef", {}).get("name") == role]


def files():
    """The text of each file that is generated, by path."""
    import chart  # needs python3-yaml

    nvshare = chart.Chart(ROOT / "deploy/helm/nvshare")
    texts = nvshare.render(Service="kustomize")
    for name in BASE_FILES:
        yield KUSTOMIZE / "base" / name, write_yaml(chart.load_documents(texts[name]))
    cleanup = cleanup_of(chart, texts)
    yield KUSTOMIZE / "cleanup/cleanup.yaml", write_yaml([cleanup])
    labelled = cleanup_of(chart, nvshare.render(NODE_LABELS, Service="kustomize"))
    patch = cleanup_patch(cleanup, labelled)
    yield KUSTOMIZE / "overlays/node-labels/cleanup/cleanup.yaml", dump([patch])
    texts = nvshare.render(OPENSHIFT, Service="kustomize")
    for name, folder in (("rbac.yaml", ""), ("cleanup.yaml", "cleanup/")):
        scc = bindings_of_scc(chart.load_documents(texts[name]))
        yield KUSTOMIZE / f"overlays/openshift/{folder}scc.yaml", write_yaml(scc)
    texts = nvshare.render(MONITORING, ["monitoring.coreos.com/v1"], Service="kustomize")
    monitoring = chart.load_documents(texts["monitoring.yaml"])
    yield KUSTOMIZE / "overlays/monitoring/monitoring.yaml", write_yaml(monitoring)


def main(words):
    try:
        wanted = dict(files())
    except ImportError as error:
        print(f"skipped: {error}")
        return SKIPPED
    old = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in old:
        if "--verify" in words:
            print(f"{path} is not what the chart makes; run tools/gen_kustomize.py")
        else:
            path.write_text(wanted[path], "utf-8")
    return 1 if old and "--verify" in words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
