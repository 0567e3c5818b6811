// SPDX-License-Identifier: Apache-2.0
#include "os/timer.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "os/clock.h"

namespace nvs::os {
namespace {

bool fires(const Timer& timer, int wait_ms) {
  pollfd watch{timer.fd(), POLLIN, 0};
  return ::poll(&watch, 1, wait_ms) == 1;
}

TEST(Timer, FiresOnceForEachArming) {
  Timer timer = *Timer::create();
  const Instant deadline = monotonic_now() + Duration::from_us(500);
  ASSERT_TRUE(timer.arm(deadline));
  ASSERT_TRUE(fires(timer, -1));
  EXPECT_GE(monotonic_now(), deadline);
  timer.acknowledge();
  EXPECT_FALSE(fires(timer, 0));
  ASSERT_TRUE(timer.arm(deadline));
  EXPECT_TRUE(fires(timer, -1));
}

TEST(Timer, CanBeDisarmed) {
  Timer timer = *Timer::create();
  ASSERT_TRUE(timer.arm(Instant{}));  // long ago
  ASSERT_TRUE(timer.arm(std::nullopt));
  EXPECT_FALSE(fires(timer, 0));
}

}  // namespace
}  // namespace nvs::os
