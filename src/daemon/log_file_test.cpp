// SPDX-License-Identifier: Apache-2.0
#include "daemon/log_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/test_folder.h"
#include "base/unique_fd.h"

namespace nvs::daemon {
namespace {

TEST(LogFile, IsEmptiedOnceItIsTooLong) {
  const TestFolder folder;
  const std::string path = folder.write("log", "12345");
  const UniqueFd log{::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)};
  ASSERT_TRUE(log);
  EXPECT_FALSE(empty_if_long(log.get(), 5));
  EXPECT_EQ(folder.read("log"), "12345");
  EXPECT_TRUE(empty_if_long(log.get(), 4));
  ASSERT_EQ(::write(log.get(), "6", 1), 1);
  EXPECT_EQ(folder.read("log"), "6");
}

TEST(LogFile, WhatIsNotWrittenAtItsEndOrIsNoFileStays) {
  const TestFolder folder;
  const std::string path = folder.write("log", "12345");
  const UniqueFd log{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  ASSERT_TRUE(log);
  EXPECT_FALSE(empty_if_long(log.get(), 4));
  EXPECT_EQ(folder.read("log"), "12345");
  int pipes[2] = {-1, -1};
  ASSERT_EQ(::pipe2(pipes, O_CLOEXEC), 0);
  const UniqueFd a{pipes[0]};
  const UniqueFd b{pipes[1]};
  EXPECT_FALSE(empty_if_long(b.get(), -1));
  EXPECT_FALSE(empty_if_long(-1, 0));
}

}  // namespace
}  // namespace nvs::daemon
