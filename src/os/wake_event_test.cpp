// SPDX-License-Identifier: Apache-2.0
#include "os/wake_event.h"

#include <thread>

#include <gtest/gtest.h>
#include <poll.h>

namespace nvs::os {
namespace {

bool is_readable(const WakeEvent& event) {
  pollfd wanted{event.fd(), POLLIN, 0};
  return ::poll(&wanted, 1, 0) == 1;
}

TEST(WakeEvent, IsReadableFromSetToClear) {
  const WakeEvent event = *WakeEvent::create();
  EXPECT_FALSE(is_readable(event));
  event.set();
  event.set();
  EXPECT_TRUE(is_readable(event));
  EXPECT_TRUE(is_readable(event));
  event.clear();
  EXPECT_FALSE(is_readable(event));
  event.clear();
  EXPECT_FALSE(is_readable(event));
}

TEST(WakeEvent, WakesAnotherThread) {
  const WakeEvent event = *WakeEvent::create();
  std::thread other([&event] { event.set(); });
  pollfd wanted{event.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&wanted, 1, -1), 1);
  other.join();
}

}  // namespace
}  // namespace nvs::os
