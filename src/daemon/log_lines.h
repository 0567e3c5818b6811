// SPDX-License-Identifier: Apache-2.0
// What a part of the daemon remarked, a line each, in the log of whoever calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/log.h"

namespace nvs::daemon {

inline void log_lines(Level level, const char* message, const std::string& lines,
                      const char* file = __builtin_FILE()) {
  for (std::size_t start = 0; start < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', start), lines.size());
    if (end > start) log(level, message, {{"remark", lines.substr(start, end - start)}}, file);
    start = end + 1;
  }
}

}  // namespace nvs::daemon
