# SPDX-License-Identifier: Apache-2.0
"""Tenants that do not fit into memory together: one that must be right in the end whatever becomes
of the others, and smaller ones, to which things happen."""

import pathlib

from fault_case import FaultCase

LIBRARY = "nvshare"  # what the library's threads are named


class ExchangeCase(FaultCase):
    scale = 256  # 58 MiB: for the innocent one, or four others
    time = 0.05
    window = "5ms"
    daemon_options = ("--turn", "100ms", "--host-memory", "640MiB")

    def innocent(self):
        tenant = self.tenant("mixed", 9, 2)
        tenant.wait_for_progress(1)
        return tenant

    def victim(self, **variables):
        return self.tenant("mixed", 3, 1, **variables)

    def wait_for_exchange(self, tenant):
        """Some of its memory has been in host memory."""
        self.wait_until(
            lambda: (self.on_gpu(tenant) or {"host_bytes": 0})["host_bytes"] > 0,
            f"memory of {tenant} in host memory",
        )

    def check_only(self, tenant):
        """All that the others had is free again."""
        self.wait_until(lambda: len(self.status()["tenants"]) == 1, "the others forgotten")
        self.wait_until(self.has_no_host_memory_of_others, "host memory of the dead given back")
        self.check_segments()
        self.wait_until(lambda: self.on_gpu(tenant)["swapped_bytes"] == 0, "all of it back")
        tenant.wait_for_progress()

    def has_no_host_memory_of_others(self):
        host = self.status()["host_memory"]
        own = sum(one["held_bytes"] for one in host["tenants"])
        all_of_it = sum(host[what] for what in ("held_bytes", "kept_bytes", "promised_bytes"))
        return len(host["tenants"]) <= 1 and all_of_it == own


def is_stopped(tenant):
    stat = pathlib.Path("/proc", str(tenant.pid), "stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"
