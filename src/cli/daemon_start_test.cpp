// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_start.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test_folder.h"

namespace nvs::cli {
namespace {

namespace fs = std::filesystem;

std::string complaint(const std::string& folder) {
  const Outcome<void> prepared = prepare_folder(folder);
  return prepared ? "" : prepared.error().text;
}

TEST(DaemonStart, MakesAFolderForOneUser) {
  const TestFolder folder;
  const std::string made = folder.path("made");
  EXPECT_EQ(complaint(made), "");
  struct stat found {};
  ASSERT_EQ(::stat(made.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0700u);
  EXPECT_EQ(complaint(made), "");
}

TEST(DaemonStart, RefusesAFolderThatOthersCouldHavePrepared) {
  const TestFolder folder;
  const std::string file = folder.write("file", "");
  EXPECT_NE(complaint(file).find("it is a link or a file"), std::string::npos);
  fs::create_directory(folder.path("real"));
  fs::create_directory_symlink(folder.path("real"), folder.path("link"));
  EXPECT_NE(complaint(folder.path("link")).find("it is a link or a file"), std::string::npos);
  fs::permissions(folder.path("real"), fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(complaint(folder.path("real")).find("other users may write"), std::string::npos);
  EXPECT_NE(complaint(folder.path("none/below")).find("No such file"), std::string::npos);
  EXPECT_NE(complaint("relative").find("not an absolute path"), std::string::npos);
  if (::geteuid() == 0) {
    fs::create_directory(folder.path("theirs"));
    ASSERT_EQ(::chown(folder.path("theirs").c_str(), 65534, 65534), 0);
    EXPECT_NE(complaint(folder.path("theirs")).find("another user"), std::string::npos);
  }
}

TEST(DaemonStart, TheDaemonBesideThisProgramComesBeforeThePath) {
  const TestFolder folder;
  const std::string beside = folder.write("a/nvshare-scheduler", "", fs::perms::owner_all);
  const std::string other = folder.write("b/nvshare-scheduler", "", fs::perms::owner_all);
  EXPECT_EQ(find_daemon(folder.path("a"), folder.path("b")).value(), beside);
  EXPECT_EQ(find_daemon(folder.path("c"), folder.path("b")).value(), other);
  const auto none = find_daemon(folder.path("c"), folder.path("d"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, kExitFailed);
  EXPECT_NE(none.error().text.find("--no-daemon"), std::string::npos);
}

TEST(DaemonStart, LastLinesOfALog) {
  EXPECT_EQ(last_lines("", 3), "");
  EXPECT_EQ(last_lines("\n\n", 3), "");
  EXPECT_EQ(last_lines("a", 3), "  a");
  EXPECT_EQ(last_lines("a\nb\n", 3), "  a\n  b");
  EXPECT_EQ(last_lines("a\nb\n\nc\nd\n", 3), "  \n  c\n  d");
}

}  // namespace
}  // namespace nvs::cli
