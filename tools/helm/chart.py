# SPDX-License-Identifier: Apache-2.0
"""A chart on disk, its values, and what it renders to."""

import copy
import pathlib

import yaml

import schema
from template_parser import parse
from template_run import Runner
from template_text import TemplateError

NOTES = "NOTES.txt"
# Of the cluster, where nobody says otherwise.
KUBE_VERSION = "v1.33.4"


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that is there twice, of which one would be lost without a word."""


def construct_mapping(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key} is there twice", node.start_mark
            )
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, construct_mapping)


def load_yaml(text):
    return yaml.load(text, Loader=StrictLoader)


def load_documents(text):
    """Those that are not empty."""
    return [one for one in yaml.load_all(text, Loader=StrictLoader) if one is not None]


class ApiVersions:
    """.Capabilities.APIVersions"""

    def __init__(self, names):
        self.names = set(names)

    def template_Has(self, name):
        return name in self.names


def merged(base, over):
    """As Helm merges values: maps by key, and whatever else by taking the later one."""
    result = copy.deepcopy(base)
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def setting(text):
    """The values that --set a.b=1 means."""
    path, sign, value = text.partition("=")
    if not sign:
        raise TemplateError(f"--set takes a.b=value, not {text}")
    result = load_yaml(value)
    for name in reversed(path.split(".")):
        result = {name: result}
    return result


class Chart:
    """Reads a chart once; renders it with any number of values."""

    def __init__(self, folder, kube_version=KUBE_VERSION):
        self.kube_version = kube_version
        self.folder = pathlib.Path(folder)
        self.about = load_yaml((self.folder / "Chart.yaml").read_text("utf-8"))
        self.values = load_yaml((self.folder / "values.yaml").read_text("utf-8"))
        self.schema = load_yaml((self.folder / "values.schema.json").read_text("utf-8"))
        self.defined, self.trees = {}, {}
        for path in sorted((self.folder / "templates").iterdir()):
            if path.name == "README.md":  # .helmignore says so
                continue
            tree = parse(path.read_text("utf-8"), path.name, self.defined)
            if not path.name.startswith("_"):
                self.trees[path.name] = tree

    def context(self, values, release, api_versions):
        about = {key[0].upper() + key[1:]: value for key, value in self.about.items()}
        return {
            "Values": values,
            "Chart": about,
            "Release": {"Name": "nvshare", "Namespace": "nvshare-system", "Service": "Helm"}
            | release,
            "Capabilities": {
                "APIVersions": ApiVersions(api_versions),
                "KubeVersion": {"Version": self.kube_version},
            },
        }

    def render(self, values=None, api_versions=(), **release):
        """The text of each file, by name. Values that the schema refuses are an error."""
        whole = merged(self.values, values or {})
        problems = list(schema.problems(whole, self.schema))
        if problems:
            raise TemplateError("values: " + "; ".join(problems))
        dot = self.context(whole, release, api_versions)
        runner = Runner(self.defined)
        return {name: runner.run(tree, dot, name) for name, tree in self.trees.items()}

    def manifests(self, values=None, api_versions=(), **release):
        """Every object that the chart makes, in the order of its files."""
        objects = []
        for name, text in self.render(values, api_versions, **release).items():
            if name == NOTES:
                continue
            try:
                objects += load_documents(text)
            except yaml.YAMLError as error:
                raise TemplateError(f"{name} makes no YAML: {error}\n{text}") from None
        return objects
