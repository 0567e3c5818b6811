#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the chart makes of its values for the device plugin: configs, flags, folders."""

import unittest

from chart_case import NFD, ChartCase, args_of, values_file, volumes_of
from deploy_case import CHART, chart, pod_of
from template_text import TemplateError


class DevicePlugin(ChartCase):
    def plugins(self, values, api_versions=()):
        manifests = self.render(values, api_versions)
        return {
            one["metadata"]["name"]: one
            for one in manifests
            if one["kind"] == "DaemonSet" and "device-plugin" in one["metadata"]["name"]
        }

    def expressions(self, manifest):
        affinity = pod_of(manifest)["affinity"]["nodeAffinity"]
        terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        return [term["matchExpressions"] for term in terms]

    def test_without_config(self):
        (plugin,) = self.plugins({}).values()
        self.assertEqual(args_of(plugin), ["--probes=:9403", "--require-scheduler"])
        self.assertFalse({"config", "cdi"} & set(volumes_of(plugin)))
        self.assertEqual([len(one) for one in self.expressions(plugin)], [1, 1, 1])

    def test_probes_ask_where_it_listens(self):
        (plugin,) = self.plugins({"devicePlugin": {"probePort": 8000}}).values()
        self.assertIn("--probes=:8000", args_of(plugin))
        (container,) = pod_of(plugin)["containers"]
        self.assertEqual(container["ports"], [{"name": "probes", "containerPort": 8000}])
        for probe, path in (("liveness", "/healthz"), ("readiness", "/readyz")):
            asked = container[f"{probe}Probe"]["httpGet"]
            self.assertEqual(asked, {"path": path, "port": "probes"})

    def test_it_sees_the_device_files_that_it_passes_on(self):
        manifests = self.render()
        for name, words in (("device-plugin", "compute,utility"), ("scheduler", "utility")):
            (container,) = pod_of(self.one(manifests, "DaemonSet", f"nvshare-{name}"))["containers"]
            given = {one["name"]: one.get("value") for one in container["env"]}
            self.assertEqual(given["NVIDIA_DRIVER_CAPABILITIES"], words)

    def test_what_else_it_offers(self):
        values = {"memoryRatio": 1.5, "offerCores": True, "replicas": 4}
        (plugin,) = self.plugins({"devicePlugin": values}).values()
        for flag in ("--memory-ratio=1.5", "--cores", "--replicas=4"):
            self.assertIn(flag, args_of(plugin))

    def test_a_scheduler_is_required_unless_somebody_says_otherwise(self):
        (plugin,) = self.plugins({"devicePlugin": {"requireScheduler": False}}).values()
        self.assertEqual(args_of(plugin), ["--probes=:9403"])

    def test_folders_and_not_sockets(self):
        (plugin,) = self.plugins({"kubeletPath": "/k"}).values()
        paths = {name: one["hostPath"] for name, one in volumes_of(plugin).items()}
        expected = {
            "device-plugins": {"path": "/var/lib/kubelet/device-plugins", "type": "Directory"},
            "pod-resources": {"path": "/k/pod-resources", "type": "Directory"},
            "daemon": {"path": "/var/run/nvshare/plugin", "type": "DirectoryOrCreate"},
            "library": {"path": "/var/lib/nvshare", "type": "DirectoryOrCreate"},
        }
        self.assertEqual(paths, expected)
        mounts = pod_of(plugin)["containers"][0]["volumeMounts"]
        by_name = {one["name"]: one for one in mounts}
        # The kubelet is told the path of the library, so it is the same inside.
        self.assertEqual(by_name["library"]["mountPath"], "/var/lib/nvshare")
        read_only = sorted(name for name, one in by_name.items() if one.get("readOnly"))
        self.assertEqual(read_only, ["daemon", "pod-resources"])

    def test_one_config_is_for_all_nodes(self):
        (plugin,) = self.plugins({"config": {"map": {"only": "version: v1"}}}).values()
        self.assertIn("--config-file=/etc/nvshare/device-plugin/only", args_of(plugin))
        self.assertEqual([len(one) for one in self.expressions(plugin)], [1, 1, 1])

    def test_label_of_a_node_chooses_its_config(self):
        plugins = self.plugins(values_file("time-slicing"))
        self.assertEqual(set(plugins), {"nvshare-device-plugin", "nvshare-device-plugin-many"})
        label = "nvshare.com/device-plugin.config"
        chosen = {"key": label, "operator": "In", "values": ["many"]}
        others = {"key": label, "operator": "NotIn", "values": ["many"]}
        for expressions in self.expressions(plugins["nvshare-device-plugin-many"]):
            self.assertEqual(expressions[1:], [chosen])
        for expressions in self.expressions(plugins["nvshare-device-plugin"]):
            self.assertEqual(expressions[1:], [others])
        few, many = plugins["nvshare-device-plugin"], plugins["nvshare-device-plugin-many"]
        self.assertIn("--config-file=/etc/nvshare/device-plugin/few", args_of(few))
        self.assertIn("--config-file=/etc/nvshare/device-plugin/many", args_of(many))

    def test_names_of_configs_need_not_be_names_of_objects(self):
        """As in a ConfigMap of NVIDIA's plugin, which names them after products."""
        others = ["A100_SXM4", "a100_sxm4", "A100-SXM4", "a100.sxm4", "x" * 63, "A" * 63]
        values = {"map": {name: "version: v1" for name in ["few", *others]}, "default": "few"}
        plugins = self.plugins({"config": values})
        self.assertEqual(len(plugins), 7)
        chosen = []
        for name, plugin in plugins.items():
            for part in name.split("."):
                self.assertRegex(part, r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
            for label in plugin["spec"]["selector"]["matchLabels"].values():
                self.assertLessEqual(len(label), 63)
            (label,) = self.expressions(plugin)[0][1:]
            if label["operator"] == "In":
                chosen += label["values"]
                self.assertIn(f"/{label['values'][0]}", "".join(args_of(plugin)))
        self.assertCountEqual(chosen, others)
        # Those that were good names keep theirs: a selector cannot be changed.
        self.assertIn("nvshare-device-plugin-a100.sxm4", plugins)

    def test_what_no_label_can_be_is_refused(self):
        values = {"map": {"few": "version: v1", "_x": "version: v1"}}
        self.refuse({"config": {**values, "default": "few"}}, "no label of a node can be _x")
        self.plugins({"config": {**values, "default": "_x"}})

    def test_node_label_works_where_all_nodes_are_meant(self):
        values = chart.merged(values_file("time-slicing"), {"nodeTerms": []})
        many = self.plugins(values)["nvshare-device-plugin-many"]
        (expressions,) = self.expressions(many)
        self.assertEqual(len(expressions), 1)

    def test_changed_config_rolls_its_own_plugin(self):
        def sums(values):
            return {
                name: one["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
                for name, one in self.plugins(values).items()
            }

        values = values_file("time-slicing")
        before = sums(values)
        after = sums(chart.merged(values, {"config": {"map": {"many": "version: v1"}}}))
        changed = {name for name in before if before[name] != after[name]}
        self.assertEqual(changed, {"nvshare-device-plugin-many"})

    def test_config_map_holds_the_files_as_they_are(self):
        values = values_file("time-slicing")
        self.assertEqual(
            self.one(self.render(values), "ConfigMap")["data"], values["config"]["map"]
        )

    def test_wrong_configs_are_refused(self):
        self.refuse({"config": {"map": {"a": "x", "b": "y"}}}, "config.default must say")
        self.refuse({"config": {"map": {"a": "x"}, "default": "b"}}, "no config is called so")
        self.refuse({"config": {"map": {"a": "x"}, "name": "b"}}, "exclude each other")
        self.refuse({"config": {"name": "b"}}, "config.names")
        self.refuse({"config": {"map": {"a": {"version": "v1"}}}}, "config.map.a")

    def test_cdi_has_its_folder(self):
        (plugin,) = self.plugins(values_file("cdi")).values()
        self.assertEqual(volumes_of(plugin)["cdi"]["hostPath"]["path"], "/var/run/cdi")
        tenants = {"path": "/var/run/nvshare/tenant", "type": "DirectoryOrCreate"}
        self.assertEqual(volumes_of(plugin)["tenants"]["hostPath"], tenants)
        self.assertIn("--injection=cdi-cri", args_of(plugin))

    def test_cdi_is_refused_where_kubelets_drop_it(self):
        own = "version: nvshare/v1\ninjection: cdi-cri\n"
        theirs = "version: v1\nflags: {plugin: {deviceListStrategy: [envvar, cdi-cri]}}\n"
        wanted = [{"devicePlugin": {"injection": "cdi-cri"}}]
        wanted += [{"devicePlugin": {"deviceListStrategy": "envvar,cdi-cri"}}]
        wanted += [{"config": {"map": {"a": text}}} for text in (own, theirs)]
        for values in wanted:
            self.render(values)
            for version in ("v1.26.0", "v1.28.15", "v1.28.15-gke.1"):
                old = chart.Chart(CHART, version)
                with self.assertRaisesRegex(TemplateError, f"1.29, and this is {version}"):
                    old.manifests(values)
            chart.Chart(CHART, "v1.29.0-eks-1a2b").manifests(values)
        quiet = {"config": {"map": {"a": "version: nvshare/v1 # not cdi-cri\n"}}}
        chart.Chart(CHART, "v1.28.15").manifests(quiet)

    def test_a_config_may_choose_the_injection_where_no_value_does(self):
        config = {"config": {"map": {"a": "version: nvshare/v1\ninjection: cdi-cri\n"}}}
        (plugin,) = self.plugins(config).values()
        self.assertNotIn("--injection", " ".join(args_of(plugin)))
        self.assertIn("cdi", volumes_of(plugin))
        # A flag counts more than a config.
        (plugin,) = self.plugins({**config, "devicePlugin": {"injection": "env"}}).values()
        self.assertIn("--injection=env", args_of(plugin))
        self.assertNotIn("cdi", volumes_of(plugin))

    def test_labels_of_nodes_where_somebody_reads_the_file(self):
        for values, api_versions, is_there in (
            ({}, (NFD,), True),
            ({}, (), False),
            ({"nodeLabels": "nfd"}, (), True),
            ({"nodeLabels": "none"}, (NFD,), False),
        ):
            (plugin,) = self.plugins(values, api_versions).values()
            has_flag = any(one.startswith("--node-labels-file=") for one in args_of(plugin))
            self.assertEqual((has_flag, "features" in volumes_of(plugin)), (is_there, is_there))


if __name__ == "__main__":
    unittest.main()
