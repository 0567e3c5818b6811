// SPDX-License-Identifier: Apache-2.0
// How much memory this process could have: that of the machine, or less if it is in a cgroup with a
// limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nvs::os {

// `root` is where /proc and /sys are, for tests. Nothing if the machine's memory cannot be read.
std::optional<std::uint64_t> memory_size(const std::string& root = "");

// What the machine could give out now without taking it from anybody.
std::optional<std::uint64_t> memory_available(const std::string& root = "");

}  // namespace nvs::os
