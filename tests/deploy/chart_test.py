#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Helm chart makes of its values, held against the types of the API and our promises."""

import functools
import re
import unittest

from chart_case import MONITORING, NFD, ChartCase, args_of, values_file, volumes_of
from deploy_case import CHART, ROOT, chart, pod_of
from template_text import TemplateError


class EveryChart(ChartCase):
    """Whatever the values are."""

    def test_values_files_make_valid_manifests(self):
        files = sorted((CHART / "ci").glob("*-values.yaml"))
        self.assertGreaterEqual(len(files), 5)
        for file in files:
            values = chart.load_yaml(file.read_text("utf-8"))
            for api_versions in ((), (MONITORING, NFD)):
                with self.subTest(file.name, api_versions=api_versions):
                    self.render(values, api_versions)

    def test_everything_sets_every_value(self):
        """A value that is new gets into the values file that the tests render."""
        given = chart.merged(values_file("everything"), values_file("minimal"))
        given = chart.merged(given, {"allowDefaultNamespace": 1, "nameOverride": 1})
        given = chart.merged(given, {"resourceQuota": 1, "config": {"map": 1}})
        given = chart.merged(given, {"scheduler": {"image": 1}})
        given = chart.merged(given, {"devicePlugin": {"image": 1, "tag": 1, "resources": 1}})

        def missing(defaults, others, path):
            for key, value in defaults.items():
                if key not in others:
                    yield path + key
                elif isinstance(value, dict) and isinstance(others[key], dict):
                    yield from missing(value, others[key], f"{path}{key}.")

        self.assertEqual(list(missing(self.chart.values, given, "")), [])

    def test_every_value_is_in_the_schema(self):
        def unknown(values, schema, path):
            for key, value in values.items():
                inner = schema.get("properties", {}).get(key)
                if inner is None:
                    yield path + key
                elif isinstance(value, dict) and "properties" in inner:
                    yield from unknown(value, inner, f"{path}{key}.")

        self.assertEqual(list(unknown(self.chart.values, self.chart.schema, "")), [])

    def test_values_of_an_older_chart_are_refused(self):
        """helm upgrade --reuse-values has no map that is new, and templates would look into it."""

        def maps(values, schema, path=()):
            for key, value in values.items():
                inner = schema.get("properties", {}).get(key, {})
                if "$ref" in inner:
                    inner = self.chart.schema["$defs"][inner["$ref"].rpartition("/")[2]]
                if isinstance(value, dict) and value and "properties" in inner:
                    yield (*path, key)
                    yield from maps(value, inner, (*path, key))

        found = list(maps(self.chart.values, self.chart.schema))
        self.assertIn(("metrics", "serviceMonitor"), found)
        for *parents, name in found:
            older = chart.Chart(CHART)
            place = functools.reduce(dict.__getitem__, parents, older.values)
            del place[name]
            with self.subTest(name), self.assertRaisesRegex(TemplateError, f" has no {name}$"):
                older.render()

    def test_versions_are_those_of_the_project(self):
        project = (ROOT / "CMakeLists.txt").read_text("utf-8")
        version = re.search(r"project\(nvshare VERSION (\S+)", project).group(1)
        self.assertEqual(self.chart.about["appVersion"], version)
        self.assertEqual(self.chart.about["version"], version)

    def test_no_pod_has_more_rights_than_it_needs(self):
        for manifest in self.render(values_file("everything"), [MONITORING]):
            if "template" not in manifest.get("spec", {}):
                continue
            pod = pod_of(manifest)
            name = manifest["metadata"]["name"]
            for container in pod["containers"] + pod.get("initContainers", []):
                context = container["securityContext"]
                added = {"add": ["SYS_RESOURCE"]} if name.endswith("-scheduler") else {}
                self.assertEqual(context["capabilities"], {"drop": ["ALL"], **added}, name)
                self.assertIs(context["allowPrivilegeEscalation"], False, name)
                self.assertIs(context["readOnlyRootFilesystem"], True, name)
                self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"}, name)
                self.assertNotIn("privileged", context)
            self.assertEqual(pod.get("hostPID", False), name.endswith("-scheduler"), name)
            for forbidden in ("hostNetwork", "hostIPC"):
                self.assertNotIn(forbidden, pod)

    def test_only_the_scheduler_and_who_waits_for_the_cleanup_may_ask_the_server(self):
        manifests = self.render(values_file("everything"))
        rules = {
            one["metadata"]["name"]: one["rules"]
            for one in manifests
            if one["kind"] in ("ClusterRole", "Role")
        }
        pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}
        cleanup = {
            "apiGroups": ["apps"],
            "resources": ["daemonsets"],
            "resourceNames": ["gpu-sharing-cleanup"],
            "verbs": ["get", "list", "watch", "delete"],
        }
        expected = {"gpu-sharing-scheduler": [pods], "gpu-sharing-cleanup": [cleanup]}
        self.assertEqual(rules, expected)
        for manifest in manifests:
            if manifest["kind"] == "DaemonSet":
                self.assertIs(pod_of(manifest)["automountServiceAccountToken"], False)
            if manifest["kind"] == "ServiceAccount":
                self.assertIs(manifest["automountServiceAccountToken"], False)


class Scheduler(ChartCase):
    def scheduler(self, **values):
        return self.one(self.render({"scheduler": values}), "DaemonSet", "nvshare-scheduler")

    def test_memory_is_what_is_lent_and_512_mi(self):
        for lent, whole in ((0, "512Mi"), ("0", "512Mi"), ("64Mi", "576Mi"), ("1536Mi", "2048Mi"),
                            ("8Gi", "8704Mi"), ("300Gi", "307712Mi")):
            with self.subTest(lent):
                manifest = self.scheduler(hostMemory=lent)
                resources = pod_of(manifest)["containers"][0]["resources"]
                self.assertEqual(resources["requests"]["memory"], whole)
                self.assertEqual(resources["limits"], {"memory": whole})
                self.assertIn(f"--host-memory={lent}", args_of(manifest))

    def test_what_the_daemon_would_refuse_is_refused(self):
        for lent in (8, -1, "8", "63Mi", "8GB", "08Gi", "-1Gi", "1.5Gi", ""):
            self.refuse({"scheduler": {"hostMemory": lent}}, "scheduler.hostMemory")
        self.refuse({"scheduler": {"coreLimit": 101}}, "coreLimit")
        self.refuse({"scheduler": {"mode": "fast"}}, "scheduler.mode")
        self.refuse({"scheduler": {"podPriority": "urgent"}}, "scheduler.podPriority")
        self.refuse({"scheduler": {"window": "20"}}, "scheduler.window")

    def test_null_is_no_flag(self):
        expected = ["--folder=/var/run/nvshare", "--host-memory=8Gi"]
        self.assertEqual(args_of(self.scheduler()), expected)
        self.assertEqual(
            args_of(self.scheduler(mode="serial", turn="1m", coreLimit=40, extraArgs=["--x"])),
            ["--core-limit=40", *expected, "--mode=serial", "--turn=1m", "--x"],
        )
        self.assertEqual(
            args_of(self.scheduler(podPriority="high")), [*expected, "--pod-priority=high"]
        )

    def test_token_is_projected_where_it_is_used(self):
        token = volumes_of(self.scheduler())["token"]["projected"]["sources"]
        self.assertEqual(token[0]["serviceAccountToken"]["path"], "token")
        self.assertEqual(token[1]["configMap"]["items"][0]["path"], "ca.crt")

    def test_without_watching_there_are_neither_rights_nor_token(self):
        manifests = self.render({"scheduler": {"watchPods": False}})
        daemon = self.one(manifests, "DaemonSet", "nvshare-scheduler")
        self.assertNotIn("token", volumes_of(daemon))
        self.assertIn("--kube=off", args_of(daemon))
        self.assertNotIn("ClusterRole", {one["kind"] for one in manifests})

    def test_never_two_at_a_time(self):
        for manifest in self.render():
            if manifest["kind"] == "DaemonSet" and "cleanup" not in manifest["metadata"]["name"]:
                rolling = manifest["spec"]["updateStrategy"]["rollingUpdate"]
                self.assertEqual(rolling, {"maxUnavailable": 1, "maxSurge": 0})

    def test_plugin_rolls_without_it(self):
        before = self.one(self.render(), "DaemonSet", "nvshare-scheduler")
        values = {"devicePlugin": {"tag": "9.9.9", "replicas": 3}, "config": {"map": {"a": "b"}}}
        manifests = self.render(values)
        self.assertEqual(self.one(manifests, "DaemonSet", "nvshare-scheduler"), before)
        plugin = self.one(manifests, "DaemonSet", "nvshare-device-plugin")
        self.assertEqual(pod_of(plugin)["containers"][0]["image"], "nvshare-device-plugin:9.9.9")

    def test_new_chart_alone_starts_nothing_anew(self):
        def templates(manifests):
            sets = [one for one in manifests if one["kind"] == "DaemonSet"]
            return [one["spec"]["template"] for one in sets]

        values = {"image": {"tag": "1"}}
        before = templates(self.render(values))
        newer = chart.Chart(CHART)
        newer.about |= {"version": "7.0.0", "appVersion": "7.0.0"}
        self.assertEqual(templates(newer.manifests(values)), before)


class TheRest(ChartCase):
    def test_names_of_digits_are_texts(self):
        for manifest in self.render(Name="123", Namespace="456"):
            metadata = manifest["metadata"]
            self.assertEqual(metadata["labels"]["app.kubernetes.io/instance"], "123")
            self.assertIn(metadata.get("namespace"), ("456", None), manifest["kind"])

    def test_default_namespace_is_refused(self):
        self.refuse({}, "nvshare-system", Namespace="default")
        self.refuse({"namespaceOverride": "default"}, "nvshare-system")
        self.render({"allowDefaultNamespace": True}, Namespace="default")

    def test_unknown_values_are_refused(self):
        self.refuse({"schedular": {}}, "schedular is not known")
        self.refuse({"scheduler": {"hostmemory": "1Gi"}}, "scheduler.hostmemory is not known")
        self.refuse({"devicePlugin": {"injection": "ldpreload"}}, "devicePlugin.injection")
        self.refuse({"image": {"tag": 1.2}}, "image.tag")

    def test_quota_goes_with_the_priority_class(self):
        quota = self.one(self.render(), "ResourceQuota")
        (scope,) = quota["spec"]["scopeSelector"]["matchExpressions"]
        self.assertEqual(scope["values"], ["system-node-critical"])
        for values in ({"priorityClassName": "mine"}, {"resourceQuota": {"create": False}}):
            self.assertNotIn("ResourceQuota", {one["kind"] for one in self.render(values)})

    def test_selinux_and_openshift(self):
        for manifest in self.render():
            self.assertNotIn("-scc", manifest["metadata"]["name"])
        options = {"type": "spc_t"}
        manifests = self.render({"seLinuxOptions": options, "openshift": {"scc": "privileged"}})
        # Those that see the host; the cleanup's job does not, and its account may use only what all
        # may: its pods get a user of the namespace's range, and are refused with another.
        for values, user in (({}, 65532), ({"openshift": {"scc": "privileged"}}, None)):
            pod = pod_of(self.one(self.render(values), "Job"))
            for container in pod["containers"] + pod["initContainers"]:
                context = container["securityContext"]
                self.assertEqual(context.get("runAsUser"), user)
                self.assertIs(context["runAsNonRoot"], True)
        for name in ("scheduler", "device-plugin", "cleanup"):
            pod = pod_of(self.one(manifests, "DaemonSet", f"nvshare-{name}"))
            for container in pod["containers"] + pod.get("initContainers", []):
                self.assertEqual(container["securityContext"]["seLinuxOptions"], options)
        bound = {}
        for name in ("nvshare-scc", "nvshare-cleanup-scc"):
            one = self.one(manifests, "RoleBinding", name)
            self.assertEqual(one["roleRef"]["name"], "system:openshift:scc:privileged")
            bound[name] = [subject["name"] for subject in one["subjects"]]
        self.assertEqual(bound["nvshare-scc"], ["nvshare-scheduler", "nvshare-device-plugin"])
        self.assertEqual(bound["nvshare-cleanup-scc"], ["default"])
        self.refuse({"seLinuxOptions": {"kind": "spc_t"}}, "seLinuxOptions.kind")

    def test_runtime_class(self):
        self.refuse({"createRuntimeClass": True}, "needs runtimeClassName")
        manifests = self.render({"createRuntimeClass": True, "runtimeClassName": "nvidia"})
        self.assertEqual(self.one(manifests, "RuntimeClass")["handler"], "nvidia")
        daemon = self.one(manifests, "DaemonSet", "nvshare-scheduler")
        self.assertEqual(pod_of(daemon)["runtimeClassName"], "nvidia")

    def test_notes_say_what_is_so(self):
        def notes(values, **more):
            return self.chart.render(values, **more)[chart.NOTES]

        self.assertIn("nvshare-system", notes({}))
        self.assertNotIn("stays on the nodes", notes({}))
        self.assertIn("Delete the pods that share GPUs first", notes({}))
        self.assertIn("stays on the nodes", notes({"cleanup": {"enabled": False}}))


if __name__ == "__main__":
    unittest.main()
