// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nvs::os {
namespace {

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "nvshare_process_test_" + std::to_string(::getpid());
    std::filesystem::remove_all(folder_);
    ASSERT_TRUE(make_folder(folder_, 0755));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static unsigned mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777U;
  }

  std::string folder_;
};

TEST_F(ProcessTest, ALockIsHeldByOneDescriptorAtATime) {
  const std::string path = folder_ + "/lock";
  Result<UniqueFd> first = lock_file(path);
  ASSERT_TRUE(first);
  EXPECT_EQ(lock_file(path).error().sys, EWOULDBLOCK);
  first->reset();
  EXPECT_TRUE(lock_file(path));
}

TEST_F(ProcessTest, ALockIsNotTakenThroughALink) {
  std::filesystem::create_symlink("/etc/passwd", folder_ + "/link");
  EXPECT_EQ(lock_file(folder_ + "/link").error().sys, ELOOP);
}

TEST_F(ProcessTest, AFolderHasItsPermissionsWhateverTheUmask) {
  const mode_t before = ::umask(0077);
  const Result<void> made = make_folder(folder_ + "/open", 0755);
  ::umask(before);
  ASSERT_TRUE(made);
  EXPECT_EQ(mode_of(folder_ + "/open"), 0755U);
  ASSERT_TRUE(make_folder(folder_ + "/open", 0700));
  EXPECT_EQ(mode_of(folder_ + "/open"), 0755U);
}

TEST_F(ProcessTest, AFileInTheWayIsNoFolder) {
  const UniqueFd file = *lock_file(folder_ + "/file");
  EXPECT_EQ(make_folder(folder_ + "/file", 0755).error().sys, ENOTDIR);
  EXPECT_EQ(make_folder(folder_ + "/file/below", 0755).error().sys, ENOTDIR);
}

TEST_F(ProcessTest, OpenFilesAreAsManyAsAllowed) {
  const Result<std::uint64_t> first = raise_open_files();
  ASSERT_TRUE(first);
  EXPECT_EQ(*raise_open_files(), *first);
}

// The one that was written to is the one that is read.
TEST_F(ProcessTest, AFileThatMovedUpIsTheSameAndClosedOnExec) {
  ASSERT_TRUE(raise_open_files());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd out{ends[1]};
  const UniqueFd in = move_up(UniqueFd{ends[0]});
  EXPECT_GT(in.get(), out.get() + 100);
  EXPECT_EQ(::fcntl(in.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(ends[0], F_GETFD), -1) << "nothing is left behind";
  ASSERT_EQ(::write(out.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read(in.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
}

TEST_F(ProcessTest, WhereThereIsNoHigherNumberAFileStays) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  UniqueFd file{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  const int number = file.get();
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  file = move_up(std::move(file));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(file.get(), number);
}

TEST_F(ProcessTest, LessUrgentIsAlwaysAllowed) {
  const int less = std::max(niceness(), 1);
  EXPECT_TRUE(set_niceness(less));
  EXPECT_EQ(niceness(), less);
}

}  // namespace
}  // namespace nvs::os
