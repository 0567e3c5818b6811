// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/admin_client.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "cli/ctl/exit_codes.h"

namespace nvs::cli {
namespace {

TEST(AdminClient, TheMessageSaysWhichSocketWhyAndWhatToDo) {
  const EarlyExit absent = no_daemon({"/n/admin.sock", ENOENT}, nullptr);
  EXPECT_EQ(absent.code, kCtlFailed);
  EXPECT_EQ(absent.text.find("no daemon at /n/admin.sock (No such file or directory); start it"),
            0u);
  EXPECT_NE(absent.text.find("nvshare run -- COMMAND"), std::string::npos);
  const FailedSocket own{"/o/admin.sock", ECONNREFUSED};
  const EarlyExit refused = no_daemon({"/n/admin.sock", ENOENT}, &own);
  EXPECT_EQ(refused.code, kCtlFailed);
  EXPECT_EQ(refused.text,
            "no daemon at /n/admin.sock (No such file or directory) nor at /o/admin.sock "
            "(Connection refused); the daemon has ended or is being restarted: try again, or see "
            "its log");
}

TEST(AdminClient, ASocketOfAnotherUsersIsARefusal) {
  const FailedSocket own{"/o/admin.sock", ENOENT};
  const EarlyExit denied = no_daemon({"/n/admin.sock", EACCES}, &own);
  EXPECT_EQ(denied.code, kCtlRefused);
  EXPECT_NE(denied.text.find("sudo"), std::string::npos);
}

TEST(AdminClient, ANamedFolderIsTheOnlyOneTried) {
  const TestFolder folder;
  const auto client = AdminClient::connect(folder.path("none"));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().text.find("no daemon at " + folder.path("none/admin.sock")), 0u);
  EXPECT_EQ(client.error().text.find(" nor at "), std::string::npos);
  const auto long_path = AdminClient::connect("/" + std::string(200, 'x'));
  ASSERT_FALSE(long_path);
  EXPECT_NE(long_path.error().text.find("shorter path"), std::string::npos);
}

}  // namespace
}  // namespace nvs::cli
