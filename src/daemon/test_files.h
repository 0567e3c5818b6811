// SPDX-License-Identifier: Apache-2.0
// For unit tests: how many descriptors this process has, without those that are being closed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

#include "os/foreign_file.h"

namespace nvs::daemon {

inline std::ptrdiff_t open_files() {
  os::wait_until_closed();
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

}  // namespace nvs::daemon
