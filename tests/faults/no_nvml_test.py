#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A daemon that finds no NVML does not know how much memory a GPU has.

usage: no_nvml_test.py BUILD_FOLDER [UNITTEST_ARGUMENT...]
"""

import unittest

from fault_case import FaultCase


class NoNvml(FaultCase):
    nvml = "/nonexistent/libnvidia-ml.so.1"

    def test_who_comes_second_has_memory_too(self):
        first = self.worker()
        self.wait_until(lambda: self.on_gpu(first).get("memory_used_bytes"), "memory of the first")
        second = self.worker()
        self.check_goes_on(first, second)
        self.finish(first)
        self.check_goes_on(second)
        self.finish(second)


if __name__ == "__main__":
    unittest.main()
