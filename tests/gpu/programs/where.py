# SPDX-License-Identifier: Apache-2.0
"""Says whether the library is in this process."""

with open("/proc/self/maps", encoding="utf-8") as maps:
    print("libnvshare.so" in maps.read())
