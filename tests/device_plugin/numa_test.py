#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which NUMA node the kubelet is told that a device is near, from the kernel's files to the wire.

usage: numa_test.py BUILD [UNITTEST_ARGUMENT...]
"""

import unittest

from plugin_case import GPU, PluginCase, gpu_of

BUS_OF_GPU_0 = 0x10  # in the simulator; the others follow


class NumaNodes(PluginCase):
    gpus = 3

    def place(self, gpu, text):
        folder = self.folder / f"sys/bus/pci/devices/0000:{BUS_OF_GPU_0 + gpu:02x}:00.0"
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(text)

    def told(self, resource):
        """Of each GPU that nodes are named for, and of how many devices."""
        known = self.kubelet.numa_nodes(resource)
        told = {}
        for id_, nodes in known.items():
            self.assertEqual(told.setdefault(gpu_of(id_), nodes), nodes)
        return sorted(told.values()), len(known)

    def test_devices_are_near_the_node_of_their_gpu(self):
        self.place(0, "0\n")
        self.place(1, "1\n")
        self.place(2, "-1\n")  # the kernel's word for none
        self.start("--sysfs", self.folder / "sys", "--cores")
        self.wait_for_devices(300, "nvshare.com/gpu-core")
        # Node 0 is one too, and not the same as no topology.
        self.assertEqual(self.told(GPU), ([[0], [1]], 20))
        self.assertEqual(self.told("nvshare.com/gpu-core"), ([[0], [1]], 200))

    def test_machines_without_nodes_tell_of_none(self):
        (self.folder / "sys").mkdir()
        self.start("--sysfs", self.folder / "sys")
        self.assertEqual(self.kubelet.numa_nodes(GPU), {})


if __name__ == "__main__":
    unittest.main()
