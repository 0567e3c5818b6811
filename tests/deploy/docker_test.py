#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Dockerfile names is there: files of the tree, targets of the build, programs."""

import json
import re
import shlex
import unittest

from deploy_case import CHART, DEPLOY, ROOT, DeployCase, chart, pod_of

FOLDER = DEPLOY / "docker"
# In every image: what the chart may call that is not ours.
OF_DEBIAN = {"sh", "sleep"}
ARTIFACT = re.compile(r"/src/build/(bin|lib)/(.+)")


def instructions():
    """Of the Dockerfile, in order: the word and the rest, with lines joined."""
    text = (FOLDER / "Dockerfile").read_text("utf-8")
    lines = [line for line in text.split("\n") if not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").split("\n"):
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest


class Stage:
    def __init__(self, base):
        self.base = base
        self.copies, self.runs, self.entry = [], [], None

    def programs(self):
        paths = [path for copy in self.copies for path in copy["sources"]]
        return {path.rpartition("/")[2] for path in paths}


def read_stages():
    stages, stage = {}, None
    for word, rest in instructions():
        words = shlex.split(rest)
        if word == "FROM":
            stage = stages[words[2]] = Stage(words[0])
        elif word == "COPY":
            origin = words.pop(0).partition("=")[2] if words[0].startswith("--from=") else None
            stage.copies.append({"from": origin, "sources": words[:-1]})
        elif word == "RUN":
            stage.runs.append(rest)
        elif word == "ENTRYPOINT":
            (stage.entry,) = json.loads(rest)
        elif word not in ("WORKDIR", "ENV", "LABEL"):
            raise AssertionError(f"{word} is not known here")
    return stages


def targets_of_the_build():
    """Of programs and libraries. Others make and remove folders in the build folder meanwhile."""
    tops = [top for top in ROOT.iterdir() if top.is_dir() and top.name not in ("build", ".git")]
    texts = [path.read_text("utf-8") for top in tops for path in top.rglob("CMakeLists.txt")]
    pattern = r"(?:nvs_program|nvs_preload_library)\(\s*([\w-]+)"
    return {name for text in texts for name in re.findall(pattern, text)}


class Images(DeployCase):
    @classmethod
    def setUpClass(cls):
        cls.stages = read_stages()
        cls.targets = targets_of_the_build()

    def test_copied_files_are_in_the_tree(self):
        for stage in self.stages.values():
            for copy in stage.copies:
                for source in copy["sources"] if copy["from"] is None else ():
                    self.assertTrue((ROOT / source).exists(), source)

    def test_what_is_copied_is_built_before(self):
        built = self.built()
        seen = []
        for name, stage in self.stages.items():
            for copy in stage.copies:
                if copy["from"] is None:
                    continue
                self.assertIn(copy["from"], seen)
                for source in copy["sources"]:
                    kind, file = ARTIFACT.fullmatch(source).groups()
                    target = file if kind == "bin" else "nvshare_library"
                    self.assertIn(target, built)
            seen.append(name)

    def built(self):
        (build,) = [run for run in self.stages["build"].runs if "cmake --build" in run]
        words = re.search(r"--target\s+([\w -]+?)\s+&&", build).group(1).split()
        self.assertLessEqual(set(words), self.targets)
        return words

    def test_library_is_called_so(self):
        text = (ROOT / "src/interposer/CMakeLists.txt").read_text("utf-8")
        self.assertRegex(text, r"OUTPUT_NAME nvshare\b")

    def test_presets_and_groups_of_packages_exist(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text("utf-8"))
        names = {one["name"] for one in presets["buildPresets"]}
        packages = (ROOT / "tools/packages.txt").read_text("utf-8")
        for run in self.stages["build"].runs:
            self.assertLessEqual(set(re.findall(r"--preset (\S+)", run)), names)
            for groups in re.findall(r"install_packages.sh ([\w ]+)", run):
                for group in groups.split():
                    if group != "plugin" or (ROOT / "src/device_plugin").exists():
                        self.assertRegex(packages, rf"(?m)^{group} ")

    def test_images_are_small_and_begin_alike(self):
        self.assertEqual({stage.base for stage in self.stages.values()}, {"debian:12-slim"})
        for name, stage in self.stages.items():
            if name != "build":
                self.assertIn(stage.entry, stage.programs())
            for run in stage.runs if name != "build" else ():
                # What is installed leaves no lists behind, and brings nothing along.
                self.assertIn("--no-install-recommends", run)
                self.assertIn("rm -rf /var/lib/apt/lists", run)

    def test_what_pods_call_is_in_their_images(self):
        manifests = chart.Chart(CHART).manifests({"nodeLabels": "nfd"})
        checked = 0
        for manifest in manifests:
            if manifest["kind"] != "DaemonSet":
                continue
            pod = pod_of(manifest)
            for container in pod["containers"] + pod.get("initContainers", []):
                image = container["image"].partition(":")[0].removeprefix("nvshare-")
                there = self.stages[image].programs() | OF_DEBIAN
                commands = [container["command"]]
                commands += [
                    container[probe]["exec"]["command"]
                    for probe in ("startupProbe", "livenessProbe", "readinessProbe")
                    if "exec" in container.get(probe, {})
                ]
                for command in commands:
                    self.assertIn(command[0], there)
                    checked += 1
        self.assertGreaterEqual(checked, 7)

    def test_what_is_built_from_is_not_ignored(self):
        text = (FOLDER / "Dockerfile.dockerignore").read_text("utf-8")
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(lines[0], "*")
        parts = re.findall(r"add_subdirectory\((\w+)", (ROOT / "CMakeLists.txt").read_text("utf-8"))
        # The rows of spec are included by sources.
        needed = {"CMakeLists.txt", "CMakePresets.json", "cmake", "spec", *parts}
        self.assertEqual({line[1:] for line in lines if line.startswith("!")}, needed)


if __name__ == "__main__":
    unittest.main()
