// SPDX-License-Identifier: Apache-2.0
#include "interposer/debug/quiet_write.h"

#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace nvs::interposer::debug {
namespace {

class QuietWriteTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe(ends_), 0); }
  void TearDown() override {
    for (const int end : ends_) ::close(end);
  }
  static bool is_pending() {
    sigset_t pending;
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGPIPE) != 0;
  }

  int ends_[2] = {-1, -1};
};

TEST_F(QuietWriteTest, WritesWhatItIsGiven) {
  quiet_write(ends_[1], identity_of(ends_[1]), "hello", 5);
  char text[16] = {};
  EXPECT_EQ(::read(ends_[0], text, sizeof text), 5);
  EXPECT_STREQ(text, "hello");
}

TEST_F(QuietWriteTest, WritesToNoOtherFile) {
  int other[2];
  ASSERT_EQ(::pipe(other), 0);
  const FileIdentity expected = identity_of(ends_[1]);
  EXPECT_TRUE(expected.open);
  ::dup2(other[1], ends_[1]);
  quiet_write(ends_[1], expected, "hello", 5);
  quiet_write(ends_[1], FileIdentity{}, "hello", 5);
  ::close(ends_[1]);
  ::close(other[1]);
  quiet_write(ends_[1], expected, "hello", 5);
  EXPECT_FALSE(identity_of(ends_[1]).open);
  char text[16] = {};
  EXPECT_EQ(::read(other[0], text, sizeof text), 0);
  ::close(other[0]);
}

TEST_F(QuietWriteTest, ABrokenPipeLeavesNoSignalBehind) {
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &before);
  ::close(ends_[0]);
  quiet_write(ends_[1], identity_of(ends_[1]), "hello", 5);
  EXPECT_FALSE(is_pending());
  sigset_t after;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGPIPE), ::sigismember(&before, SIGPIPE));
}

TEST_F(QuietWriteTest, ASignalThatWasOnItsWayStays) {
  sigset_t pipe_signal;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  ::raise(SIGPIPE);
  ::close(ends_[0]);
  quiet_write(ends_[1], identity_of(ends_[1]), "hello", 5);
  EXPECT_TRUE(is_pending());
  const timespec at_once{};
  ::sigtimedwait(&pipe_signal, nullptr, &at_once);
  ::pthread_sigmask(SIG_UNBLOCK, &pipe_signal, nullptr);
}

}  // namespace
}  // namespace nvs::interposer::debug
