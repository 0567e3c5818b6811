// SPDX-License-Identifier: Apache-2.0
#include "interposer/resolve/once.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace nvs::interposer {
namespace {

TEST(Once, IsForTheFirstAlone) {
  Once once;
  EXPECT_TRUE(once.begin());
  once.end();
  EXPECT_FALSE(once.begin());
}

// As by way of a malloc that looks the driver up.
TEST(Once, WhoComesAgainFromWithinDoesNotWaitForItself) {
  Once once;
  EXPECT_TRUE(once.begin());
  EXPECT_FALSE(once.begin());
  once.end();
}

TEST(Once, OthersWaitUntilItIsDone) {
  constexpr int kThreads = 4;
  Once once;
  std::atomic<int> there{0};
  std::atomic<int> early{0};
  std::atomic<bool> is_done{false};
  ASSERT_TRUE(once.begin());
  std::thread others[kThreads];
  for (std::thread& other : others) {
    other = std::thread([&] {
      ++there;
      EXPECT_FALSE(once.begin());
      if (!is_done) ++early;
    });
  }
  // Those that do not wait are past it by then, or nearly always.
  while (there < kThreads) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  is_done = true;
  once.end();
  for (std::thread& other : others) other.join();
  EXPECT_EQ(early, 0);
}

}  // namespace
}  // namespace nvs::interposer
