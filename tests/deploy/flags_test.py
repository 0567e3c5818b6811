#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every flag that the manifests give a program is one that it has.

usage: flags_test.py PROGRAM... [-- UNITTEST_ARGUMENT...]   those that are built
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from deploy_case import CHART, DEPLOY, DeployCase, chart, pod_of

PROGRAMS = {}
PLUGIN = "nvshare-device-plugin"
CONFIG_FOLDER = "--config-file=/etc/nvshare/device-plugin"


def commands_of(manifests):
    """Program and flags of every container and probe."""
    for manifest in manifests:
        if manifest["kind"] != "DaemonSet":
            continue
        for container in pod_of(manifest)["containers"]:
            yield container["command"][0], container.get("args", [])
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                if "exec" in container.get(probe, {}):
                    program, *words = container[probe]["exec"]["command"]
                    yield program, words


class Flags(DeployCase):
    def manifests(self):
        nvshare = chart.Chart(CHART)
        for file in [None, *sorted((CHART / "ci").glob("*-values.yaml"))]:
            values = chart.load_yaml(file.read_text("utf-8")) if file else {}
            # These are there to show that they get through.
            for part in ("scheduler", "devicePlugin"):
                values = chart.merged(values, {part: {"extraArgs": []}})
            yield from nvshare.manifests(values, ["nfd.k8s-sigs.io/v1alpha1"])

    def test_programs_have_them(self):
        checked = set()
        for program, words in commands_of(self.manifests()):
            if program not in PROGRAMS:
                continue
            flags = {word.partition("=")[0] for word in words if word.startswith("--")}
            shown = subprocess.run(
                [PROGRAMS[program], "--help"], capture_output=True, text=True, check=True
            ).stdout
            for flag in flags:
                self.assertIn(f"{flag} ", shown, f"{program} has no {flag}")
            checked.add(program)
        self.assertEqual(checked, set(PROGRAMS))

    def test_plugin_has_what_the_cleanup_asks(self):
        if PLUGIN not in PROGRAMS:
            self.skipTest("it is not built")
        scripts = [
            container["args"][0]
            for manifest in self.manifests()
            if manifest["metadata"]["name"].endswith("-cleanup") and manifest["kind"] == "DaemonSet"
            for container in pod_of(manifest)["initContainers"]
        ]
        shown = subprocess.run(
            [PROGRAMS[PLUGIN], "--help"], capture_output=True, text=True, check=True
        ).stdout
        for script in scripts:
            commands = re.findall(rf"{PLUGIN} (--[^;\n]+)", script)
            self.assertTrue(commands, script)
            for flag in re.findall(r"--[a-z-]+", " ".join(commands)):
                self.assertIn(f"{flag} ", shown)
        self.assertTrue(scripts)

    def test_daemon_takes_them_as_they_are_written(self):
        """Up to the one that is wrong on purpose: the others were read."""
        for program, words in commands_of(self.manifests()):
            if program != "nvshare-scheduler" or "--kube=off" in words:
                continue
            words = [word for word in words if not word.startswith("--window=")]
            done = subprocess.run(
                [PROGRAMS[program], *words, "--window=wrong"], capture_output=True, text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 2)
            self.assertIn("--window is a time", done.stderr)

    def check(self, *words):
        """The plugin reads its settings, and says what is wrong with them."""
        done = subprocess.run(
            [PROGRAMS[PLUGIN], *words, "--check"], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_plugin_takes_them_and_the_configs(self):
        if PLUGIN not in PROGRAMS:
            self.skipTest("it is not built")
        manifests = list(self.manifests())
        configs = {}
        for one in manifests:
            configs |= one["data"] if one["kind"] == "ConfigMap" else {}
        self.assertEqual(set(configs), {"few", "many"})
        with tempfile.TemporaryDirectory() as folder:
            for name in (*configs, "a", "b", "c"):
                pathlib.Path(folder, name).write_text(configs.get(name, "version: v1"), "utf-8")
            for program, words in commands_of(manifests):
                if program == PLUGIN:
                    here = f"--config-file={folder}"
                    self.check(*(word.replace(CONFIG_FOLDER, here) for word in words))

    def test_plugin_takes_the_config_of_kustomize(self):
        if PLUGIN not in PROGRAMS:
            self.skipTest("it is not built")
        for file in (DEPLOY / "kustomize/overlays/time-slicing/config").glob("[!R]*"):
            self.assertIn("nvidia.com/gpu", self.check(f"--config-file={file}"))


if __name__ == "__main__":
    own = sys.argv[1:]
    rest = []
    if "--" in own:
        own, rest = own[: own.index("--")], own[own.index("--") + 1 :]
    PROGRAMS = {pathlib.Path(path).name: path for path in own}
    unittest.main(argv=sys.argv[:1] + rest)
