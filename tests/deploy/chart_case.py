# SPDX-License-Identifier: Apache-2.0
"""What the tests of the chart have in common."""

from deploy_case import CHART, DeployCase, chart, pod_of
from template_text import TemplateError

MONITORING = "monitoring.coreos.com/v1"
NFD = "nfd.k8s-sigs.io/v1alpha1"


def values_file(name):
    return chart.load_yaml((CHART / f"ci/{name}-values.yaml").read_text("utf-8"))


def args_of(manifest):
    return pod_of(manifest)["containers"][0]["args"]


def volumes_of(manifest):
    return {volume["name"]: volume for volume in pod_of(manifest)["volumes"]}


class ChartCase(DeployCase):
    @classmethod
    def setUpClass(cls):
        cls.chart = chart.Chart(CHART)

    def render(self, values=None, api_versions=(), **release):
        manifests = self.chart.manifests(values, api_versions, **release)
        given = [("ConfigMap", "my-configs"), ("ClusterRole", "system:openshift:scc:privileged")]
        self.assert_valid(manifests, given)
        return manifests

    def refuse(self, values, words, **release):
        with self.assertRaises(TemplateError) as caught:
            self.chart.manifests(values, **release)
        self.assertIn(words, str(caught.exception))
