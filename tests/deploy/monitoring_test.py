#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the chart has Prometheus ask, and that somebody answers there."""

import unittest

from chart_test import MONITORING, ChartCase, args_of, values_file
from deploy_case import chart, pod_of

PORT = 9402


class Monitoring(ChartCase):
    def scheduler(self, values):
        return self.one(self.render(values), "DaemonSet", "nvshare-scheduler")

    def ports(self, values):
        return pod_of(self.scheduler(values))["containers"][0].get("ports", [])

    def test_nobody_serves_metrics_unasked(self):
        self.assertEqual(self.ports({}), [])
        self.assertFalse([one for one in args_of(self.scheduler({})) if "metrics" in one])
        for manifest in self.render({}, [MONITORING]):
            self.assertNotIn(manifest["kind"], ("Service", "ServiceMonitor"))

    def test_the_daemon_serves_at_the_port_that_is_asked(self):
        for port in (PORT, 9500):
            values = {"metrics": {"enabled": True, "port": port}}
            self.assertIn(f"--metrics=:{port}", args_of(self.scheduler(values)))
            self.assertEqual(self.ports(values), [{"name": "metrics", "containerPort": port}])
            (asked,) = self.one(self.render(values), "Service")["spec"]["ports"]
            self.assertEqual(asked, {"name": "metrics", "port": port, "targetPort": "metrics"})

    def test_a_service_monitor_needs_its_type(self):
        values = values_file("monitoring")
        kinds = {one["kind"] for one in self.render(values)}
        self.assertIn("Service", kinds)
        self.assertNotIn("ServiceMonitor", kinds)
        self.assertIn("no ServiceMonitor", self.chart.render(values)[chart.NOTES])
        self.refuse({"metrics": {"serviceMonitor": {"enabled": True}}}, "needs metrics.enabled")

    def test_it_finds_the_service_and_keeps_our_labels(self):
        manifests = self.render(values_file("monitoring"), [MONITORING])
        monitor, service = self.one(manifests, "ServiceMonitor"), self.one(manifests, "Service")
        (endpoint,) = monitor["spec"]["endpoints"]
        self.assertIs(endpoint["honorLabels"], True)
        self.assertEqual(endpoint["port"], service["spec"]["ports"][0]["name"])
        labels = service["metadata"]["labels"].items()
        self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), labels)


if __name__ == "__main__":
    unittest.main()
