// SPDX-License-Identifier: Apache-2.0
#include "os/signals.h"

#include <csignal>

#include <gtest/gtest.h>
#include <unistd.h>

namespace nvs::os {
namespace {

TEST(Signals, AreTakenFromTheDescriptorOneByOne) {
  SignalFd signals = *SignalFd::create({SIGUSR1, SIGUSR2});
  EXPECT_FALSE(signals.take());
  ASSERT_EQ(::raise(SIGUSR2), 0);
  EXPECT_EQ(signals.take(), SIGUSR2);
  EXPECT_FALSE(signals.take());
}

TEST(Signals, CanBeIgnored) {
  ASSERT_TRUE(ignore_signal(SIGHUP));
  ASSERT_EQ(::raise(SIGHUP), 0);  // would have ended the test
  EXPECT_FALSE(ignore_signal(SIGKILL));
}

}  // namespace
}  // namespace nvs::os
