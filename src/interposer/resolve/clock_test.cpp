// SPDX-License-Identifier: Apache-2.0
#include "interposer/resolve/clock.h"

#include <gtest/gtest.h>

#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

TEST(Clock, IsTheKernelsAndNeverGoesBack) {
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t before = os::monotonic_ns();
    const std::int64_t first = clock_ns();
    const std::int64_t second = clock_ns();
    const std::int64_t after = os::monotonic_ns();
    ASSERT_LE(before, first);
    ASSERT_LE(first, second);
    ASSERT_LE(second, after);
  }
}

}  // namespace
}  // namespace nvs::interposer
