// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace nvs::detail {

// One write of a stack buffer: the heap and stdio may be what is broken.
void assert_failed(const char* condition, const char* file, int line) noexcept {
  char text[512];
  const int length =
      std::snprintf(text, sizeof text, "%s:%d: NVS_ASSERT(%s) failed\n", file, line, condition);
  if (length > 0) {
    const std::size_t size = std::min(static_cast<std::size_t>(length), sizeof text - 1);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, size);
  }
  std::abort();
}

}  // namespace nvs::detail
