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

TEST(Folder, IsLostOnceItIsGoneOrAnothersAndThenLeftAlone) {
  const TestFolder test;
  const std::string path = test.path("node");
  const auto first = Folder::open(path, ::geteuid());
  ASSERT_TRUE(first) << first.error();
  EXPECT_FALSE(first->is_lost());
  std::filesystem::remove_all(path);
  EXPECT_TRUE(first->is_lost());
  const auto second = Folder::open(path, ::geteuid());
  ASSERT_TRUE(second) << second.error();
  EXPECT_TRUE(first->is_lost());
  EXPECT_FALSE(second->is_lost());
  first->remove_sockets();
  for (const char* socket : {"tenant/scheduler.sock", "admin.sock", "plugin/plugin.sock"}) {
    EXPECT_TRUE(test.has(std::string("node/") + socket)) << socket;
  }
  EXPECT_FALSE(second->is_lost());
  second->remove_sockets();
  EXPECT_FALSE(test.has("node/admin.sock"));
}

TEST(Folder, ASecondSocketForTenantsIsTheOneThatCounts) {
  const TestFolder test;
  auto folder = Folder::open(test.path("node"), ::geteuid());
  ASSERT_TRUE(folder) << folder.error();
  const auto again = folder->listen_for_tenants();
  ASSERT_TRUE(again) << again.error();
  EXPECT_FALSE(folder->is_lost());
  folder->remove_sockets();
  EXPECT_FALSE(test.has("node/tenant/scheduler.sock"));
}

TEST(Folder, WhereTheSystemDoesNotTellItIsNotLost) {
  const TestFolder test;
  const auto folder = Folder::open(test.path("node"), ::geteuid());
  ASSERT_TRUE(folder) << folder.error();
  std::filesystem::rename(test.path("node/tenant"), test.path("node/elsewhere"));
  test.write("node/tenant", "no folder");
  EXPECT_FALSE(folder->is_lost());
}

}  // namespace
}  // namespace nvs::daemon
