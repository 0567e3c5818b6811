# SPDX-License-Identifier: Apache-2.0
"""What the types of the API do not say: whether the parts of manifests fit together."""

OF_THE_CLUSTER = {"Namespace", "ClusterRole", "ClusterRoleBinding", "RuntimeClass"}
# What every cluster has without us.
GIVEN = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}


def name_of(manifest):
    return f"{manifest['kind']}/{manifest['metadata'].get('name', '')}"


def pod_spec_of(manifest):
    """The pod that a manifest makes, and its labels; none for what makes no pods."""
    if manifest["kind"] == "Pod":
        return manifest["spec"], manifest["metadata"].get("labels", {})
    template = manifest.get("spec", {}).get("template")
    if manifest["kind"] not in ("DaemonSet", "Deployment", "Job") or template is None:
        return None, {}
    return template["spec"], template.get("metadata", {}).get("labels", {})


def containers_of(spec):
    return [*spec.get("initContainers", []), *spec["containers"]]


def check_volumes(spec):
    volumes = [volume["name"] for volume in spec.get("volumes", [])]
    used = set()
    for container in containers_of(spec):
        paths = [mount["mountPath"] for mount in container.get("volumeMounts", [])]
        for path in {path for path in paths if paths.count(path) > 1}:
            yield f"two volumes at {path}"
        used |= {mount["name"] for mount in container.get("volumeMounts", [])}
    for name in sorted(used - set(volumes)):
        yield f"no volume is called {name}"
    for name in sorted(set(volumes) - used):
        yield f"no container has the volume {name}"
    for name in {name for name in volumes if volumes.count(name) > 1}:
        yield f"two volumes are called {name}"
    for volume in spec.get("volumes", []):
        sources = [key for key in volume if key != "name"]
        if len(sources) != 1:
            yield f"the volume {volume['name']} has {len(sources)} sources"


def check_container(container):
    names = [variable["name"] for variable in container.get("env", [])]
    for name in {name for name in names if names.count(name) > 1}:
        yield f"{name} is set twice"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        actions = {"exec", "httpGet", "tcpSocket"} & set(container.get(probe, {"exec": 0}))
        if len(actions) != 1:
            yield f"{probe} does {len(actions)} things"
    limits = container.get("resources", {}).get("limits", {})
    requests = container.get("resources", {}).get("requests", {})
    for resource in {**limits, **requests}:
        # Devices are whole, and no node lends more of them than it has.
        if "/" in resource and limits.get(resource) != requests.get(resource, limits.get(resource)):
            yield f"request and limit of {resource} differ"
        if "/" in resource and not str(limits.get(resource)).isdigit():
            yield f"{resource} is no whole number among the limits"


def check_pod(spec):
    yield from check_volumes(spec)
    names = [container["name"] for container in containers_of(spec)]
    if len(set(names)) != len(names):
        yield "two containers have one name"
    for container in containers_of(spec):
        for text in check_container(container):
            yield f"container {container['name']}: {text}"
        if not container.get("image"):
            yield f"container {container['name']} has no image"


def references_of(manifest):
    """What a manifest needs others to be there for: kind and name."""
    spec, _ = pod_spec_of(manifest)
    if spec is not None:
        yield "ServiceAccount", spec.get("serviceAccountName", "default")
        for volume in spec.get("volumes", []):
            sources = [volume, *volume.get("projected", {}).get("sources", [])]
            maps = [one["configMap"]["name"] for one in sources if "configMap" in one]
            yield from (("ConfigMap", name) for name in maps)
    if "roleRef" in manifest:
        yield manifest["roleRef"]["kind"], manifest["roleRef"]["name"]
        yield from ((one["kind"], one["name"]) for one in manifest["subjects"])


def check_selector(manifest):
    _, labels = pod_spec_of(manifest)
    selector = manifest.get("spec", {}).get("selector", {})
    for key, value in selector.get("matchLabels", {}).items():
        if manifest["kind"] in ("DaemonSet", "Deployment") and labels.get(key) != value:
            yield f"the selector's {key} is not on its pods"
    if manifest["kind"] == "Job" and "restartPolicy" not in pod_spec_of(manifest)[0]:
        yield "a job's pods must say restartPolicy: Never or OnFailure"


def check_one(manifest):
    has_namespace = "namespace" in manifest["metadata"]
    if has_namespace and manifest["kind"] in OF_THE_CLUSTER:
        yield "has a namespace, and belongs to the cluster"
    spec, _ = pod_spec_of(manifest)
    if spec is not None:
        yield from check_pod(spec)
        yield from check_selector(manifest)


def problems(manifests, given=()):
    """Sentences about manifests that are meant to be applied together."""
    there = {(one["kind"], one["metadata"].get("name")) for one in manifests} | GIVEN | set(given)
    seen = set()
    for manifest in manifests:
        name = name_of(manifest)
        if name in seen and "generateName" not in manifest["metadata"]:
            yield f"{name} is there twice"
        seen.add(name)
        yield from (f"{name}: {text}" for text in check_one(manifest))
        for kind, wanted in references_of(manifest):
            if (kind, wanted) not in there:
                yield f"{name}: there is no {kind} {wanted}"
    yield from check_disjoint(manifests)


def check_disjoint(manifests):
    """No DaemonSet may take another's pods for its own."""
    sets = [one for one in manifests if one["kind"] == "DaemonSet"]
    for one in sets:
        selector = one["spec"]["selector"]["matchLabels"].items()
        for other in sets:
            if other is not one and selector <= pod_spec_of(other)[1].items():
                yield f"{name_of(one)} would own the pods of {name_of(other)}"
