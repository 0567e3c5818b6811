// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test_folder.h"

namespace nvs::cli {
namespace {

TEST(DaemonFolder, IsInTheRuntimeFolderOfItsUser) {
  const TestFolder folder;
  const std::string runtime = std::filesystem::path(folder.path("x")).parent_path().string();
  EXPECT_EQ(user_folder(runtime, ::geteuid()), runtime + "/nvshare");
}

TEST(DaemonFolder, IsInTmpWhereTheVariableIsNoUse) {
  const TestFolder folder;
  const std::string file = folder.write("file", "");
  const std::string runtime = std::filesystem::path(file).parent_path().string();
  const std::string own = "/tmp/nvshare-" + std::to_string(::geteuid());
  for (const std::string& unusable :
       {std::string(), std::string("relative"), file, folder.path("none")}) {
    EXPECT_EQ(user_folder(unusable, ::geteuid()), own) << unusable;
  }
  EXPECT_EQ(user_folder(runtime, ::geteuid() + 1),
            "/tmp/nvshare-" + std::to_string(::geteuid() + 1));
}

TEST(DaemonFolder, WithAndWithoutTheVariableAUserHasTheSameTwo) {
  EXPECT_EQ(other_user_folder("/run/user/1000/nvshare", 1000), "/tmp/nvshare-1000");
  EXPECT_EQ(other_user_folder("/tmp/nvshare-1000", 1000), "/run/user/1000/nvshare");
  for (const char* other : {"/run/user/7/nvshare", "/tmp/nvshare-7", "/srv/runtime/nvshare", ""}) {
    EXPECT_EQ(other_user_folder(other, 1000), "") << other;
  }
}

TEST(DaemonFolder, IsOursOnlyIfNobodyElseCouldHaveMadeWhatIsInIt) {
  const TestFolder folder;
  EXPECT_EQ(why_not_ours(folder.path("none")), std::nullopt);
  const std::string ours = folder.path("ours");
  ASSERT_EQ(::mkdir(ours.c_str(), 0700), 0);
  EXPECT_EQ(why_not_ours(ours), std::nullopt);
  ASSERT_EQ(::chmod(ours.c_str(), 0755), 0);
  EXPECT_EQ(why_not_ours(ours), std::nullopt);
  ASSERT_EQ(::chmod(ours.c_str(), 0775), 0);
  EXPECT_EQ(why_not_ours(ours), "other users may write to it");
  const std::string link = folder.path("link");
  ASSERT_EQ(::symlink(ours.c_str(), link.c_str()), 0);
  EXPECT_EQ(why_not_ours(link), "it is a link or a file");
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(ours.c_str(), 65534, 65534), 0);
  EXPECT_EQ(why_not_ours(ours), "it belongs to another user");
}

TEST(DaemonFolder, HasTwoSockets) {
  EXPECT_EQ(tenant_socket("/f"), "/f/tenant/scheduler.sock");
  EXPECT_EQ(admin_socket("/f"), "/f/admin.sock");
  EXPECT_EQ(node_folder(), "/var/run/nvshare");
}

}  // namespace
}  // namespace nvs::cli
