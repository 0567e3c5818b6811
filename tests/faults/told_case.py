# SPDX-License-Identifier: Apache-2.0
"""What the tests of limits on memory share: tenants that allocate and free as they are told."""

from fault_case import BUILD, FaultCase

MIB = 1 << 20
GIB = 1 << 30
NVML = BUILD / "lib/sim/libnvidia-ml.so.1"
OUT_OF_MEMORY = 2


class Told(FaultCase):
    """With tenants that do as they are told."""

    scale = 8
    time = 0.02

    def take(self, tenant, way, size):
        """Whether it was given."""
        tenant.taken = getattr(tenant, "taken", 0) + 1
        tenant.say(f"take {way} {size}")
        result = int(tenant.wait_for_line("took", tenant.taken).split()[1])
        self.assertIn(result, (0, OUT_OF_MEMORY))
        return result == 0

    def give(self, tenant):
        tenant.given = getattr(tenant, "given", 0) + 1
        tenant.say("give")
        tenant.wait_for_line("gave", tenant.given)

    def sizes(self, tenant):
        """Total and free, on which all that are asked agree."""
        tenant.asked = getattr(tenant, "asked", 0) + 1
        tenant.say("sizes")
        line = tenant.wait_for_line("sizes", tenant.asked)
        total, free, *others = map(int, line.split()[1:])
        self.assertEqual(others, [total, total, free, total - free])
        return total, free
