// SPDX-License-Identifier: Apache-2.0
#include "daemon/folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/test_folder.h"

namespace nvs::daemon {
namespace {

TEST(Folder, IsHeldByOneDaemonUntilThatMakesWay) {
  const TestFolder test;
  const std::string path = test.path("node");
  auto first = Folder::open(path, ::geteuid());
  ASSERT_TRUE(first) << first.error();
  const auto refused = Folder::open(path, ::geteuid());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("another nvshare-scheduler"), std::string::npos);
  // The first one is still there, as a process is that cannot die.
  first->remove_sockets();
  first->unlock();
  const auto second = Folder::open(path, ::geteuid());
  EXPECT_TRUE(second) << second.error();
}

}  // namespace
}  // namespace nvs::daemon
