// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/root_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "base/test_folder.h"

namespace nvs::plugin {
namespace {

TEST(RootLock, PluginsShareItAndAnUninstallationDoesNot) {
  const TestFolder folder;
  const std::string root = folder.path("var/nvshare");
  auto one = hold_root(root);
  auto two = hold_root(root);
  ASSERT_TRUE(one && two);
  const UniqueFd uninstallation{::open((root + "/" + kRootLockFile).c_str(), O_RDWR | O_CLOEXEC)};
  EXPECT_NE(::flock(uninstallation.get(), LOCK_EX | LOCK_NB), 0);
  one->reset();
  EXPECT_NE(::flock(uninstallation.get(), LOCK_EX | LOCK_NB), 0);
  two->reset();
  EXPECT_EQ(::flock(uninstallation.get(), LOCK_EX | LOCK_NB), 0);
  const auto late = hold_root(root);
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message().find("uninstallation"), std::string::npos);
}

}  // namespace
}  // namespace nvs::plugin
