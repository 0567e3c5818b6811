#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What nvshare-scheduler makes of the memory of GPUs that NVML knows: the real program with an NVML
that says what a file says.

usage: FAKE_NVML=LIBRARY memory_test.py SCHEDULER [UNITTEST_ARGUMENT...]
"""

import os
import time
import unittest

from daemon_case import DaemonCase
from wire_client import PATIENCE_S

GIB = 1 << 30
UUID = "GPU-00000000-1122-3344-5566-778899aabbcc"
GPU = bytes.fromhex("00000000112233445566778899aabbcc")
OTHER_GPU = bytes.fromhex("00000001112233445566778899aabbcc")
SIZE = 15 * GIB  # without what the driver keeps
VISIBLE = SIZE - SIZE // 6


class Memory(DaemonCase):
    def start(self, *arguments, free=SIZE):
        self.free_file = self.folder.with_name("free")
        self.set_free(free)
        nvml = {"NVSHARE_NVML": os.environ["FAKE_NVML"]}
        nvml["NVSHARE_FAKE_NVML_FREE"] = str(self.free_file)
        return super().start("--host-memory", "512MiB", *arguments, **nvml)

    def set_free(self, free):
        new = self.free_file.with_suffix(".new")
        new.write_text(str(free))
        new.rename(self.free_file)

    def gpu(self, uuid=UUID):
        return next(gpu for gpu in self.ask(command="status")["gpus"] if gpu["uuid"] == uuid)

    def tenant(self, *arguments):
        client = super().tenant(*arguments)
        client.ignored = ("Allow",)  # the core's business
        return client

    def wait_for_capacity(self, capacity):
        end = time.monotonic() + PATIENCE_S
        while self.gpu()["capacity_bytes"] != capacity:
            self.assertLess(time.monotonic(), end, self.gpu())
            time.sleep(0.01)

    def test_what_is_there_is_shown_measured_and_limited(self):
        self.start()
        client = self.tenant(1, GPU)
        client.expect("Visible", ordinal=0, total=VISIBLE, limit=VISIBLE)
        client.send("UseGpu", ordinal=0, uuid=GPU)
        client.expect("GpuKnown")
        held = {"resident": 2 * GIB, "away": GIB, "fixed": GIB, "clean": 5, "host": 7}
        client.send("Holds", ordinal=0, **held)
        client.ping(1)  # said once, and nothing is limited
        gpu, [use] = self.gpu(), self.ask(command="status")["tenants"][0]["gpus"]
        self.assertEqual((gpu["memory_bytes"], gpu["visible_bytes"]), (SIZE, VISIBLE))
        keys = ("memory", "resident", "swapped", "fixed", "clean", "host")
        seen = [use[f"{key}_bytes"] for key in keys]
        self.assertEqual(seen, [4 * GIB, 2 * GIB, GIB, GIB, 5, 7])

        self.set_free(SIZE - 5 * GIB)  # of which the client has told 3
        self.wait_for_capacity(SIZE - 2 * GIB)
        self.assertEqual(self.gpu()["other_bytes"], 2 * GIB)

        other = self.tenant(2, GPU)
        total = other.expect("Visible").total
        other.send("Holds", ordinal=0, away=6 * GIB)
        reach = self.gpu()["capacity_bytes"] - GIB  # which the first one holds for good
        other.expect("Visible", total=total, limit=reach)
        client.send("Holds", ordinal=0, **held, asked=4 * GIB)
        # With the host memory, less one segment for each of both and one that they exchange.
        left = self.gpu()["capacity_bytes"] + (5 << 26) - 10 * GIB
        client.expect("Visible", total=VISIBLE, limit=4 * GIB + left)
        other.expect("Visible", total=total, limit=6 * GIB + left)
        client.send("Holds", ordinal=0, **held)
        client.expect("Visible", total=VISIBLE, limit=VISIBLE)
        other.expect("Visible", total=total, limit=reach)

    def test_processes_of_one_tenant_share_what_one_could_have(self):
        self.start()
        first, second = self.tenant(1, GPU), self.tenant(1, GPU)
        for client in (first, second):
            client.expect("Visible", total=VISIBLE, limit=VISIBLE)
        first.send("Holds", ordinal=0, resident=10 * GIB)
        second.expect("Visible", total=VISIBLE, limit=SIZE - 10 * GIB)

    def test_what_moves_is_in_the_trace(self):
        self.start()
        client = self.tenant(1, GPU)
        client.send("Holds", ordinal=0, resident=2 * GIB)
        client.send("Holds", ordinal=0, resident=GIB, away=GIB)
        client.expect("Visible")
        client.ping(1)
        trace = self.ask(command="trace", seconds=60)
        self.assertEqual(trace["memory"][-1]["resident_bytes"], GIB)
        self.assertEqual([move["way"] for move in trace["moves"]], ["out"])

    def test_a_gpu_can_be_treated_as_smaller(self):
        unknown = "GPU-99999999-1122-3344-5566-778899aabbcc"
        sizes = ("4GiB", f"{UUID}=6GiB", f"{unknown}=1GiB")
        self.start(*(f"--gpu-memory={size}" for size in sizes))
        log = "\n".join(self.daemon.log)
        self.assertRegex(log, f"names a GPU that was not found.*{unknown}")
        first, second = self.tenant(1, GPU), self.tenant(2, OTHER_GPU)
        first.expect("Visible", total=5 * GIB)
        second.expect("Visible", total=4 * GIB - 4 * GIB // 6)
        self.assertEqual(self.gpu()["capacity_bytes"], 6 * GIB)


if __name__ == "__main__":
    unittest.main()
