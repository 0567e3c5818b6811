// SPDX-License-Identifier: Apache-2.0
#include "interposer/debug/log_file.h"

#include <cerrno>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interposer/debug/test_child.h"

namespace nvs::interposer::debug {
namespace {

class LogFileTest : public testing::Test {
 protected:
  void TearDown() override {
    if (file_.fd >= 0) ::close(file_.fd);
    std::filesystem::remove_all(folder_);
  }

  std::string folder_ = make_folder();
  LogFile file_;
};

// Numbers that no process has, above the largest that Linux gives.
constexpr int kNobody = 1 << 23;

void remove_default_files() {
  const std::string name = "/tmp/nvshare-" + std::to_string(kNobody) + ".log";
  std::filesystem::remove(name);
  for (int i = 1; i < 10; ++i) std::filesystem::remove(name + "." + std::to_string(i));
}

TEST_F(LogFileTest, TheDefaultIsANewFileOfOurOwn) {
  remove_default_files();
  for (const char* named : {static_cast<const char*>(nullptr), ""}) {
    LogFile file;
    open_log_file(named, kNobody, file);
    ASSERT_GE(file.fd, 0);
    struct stat facts {};
    ASSERT_EQ(::fstat(file.fd, &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0600U);
    EXPECT_NE(::fcntl(file.fd, F_GETFD) & FD_CLOEXEC, 0);
    const std::string expected = "/tmp/nvshare-" + std::to_string(kNobody) + ".log";
    EXPECT_EQ(file.path, named == nullptr ? expected : expected + ".1");
    ::close(file.fd);
  }
  remove_default_files();
}

TEST_F(LogFileTest, AfterTenFilesWithThatNameThereIsNone) {
  remove_default_files();
  for (int i = 0; i < 10; ++i) {
    LogFile file;
    open_log_file(nullptr, kNobody, file);
    ASSERT_GE(file.fd, 0);
    ::close(file.fd);
  }
  open_log_file(nullptr, kNobody, file_);
  EXPECT_EQ(file_.fd, -1);
  EXPECT_EQ(file_.error, EEXIST);
  remove_default_files();
}

TEST_F(LogFileTest, ALinkThatSomebodyPreparedIsNotFollowed) {
  remove_default_files();
  const std::string name = "/tmp/nvshare-" + std::to_string(kNobody) + ".log";
  const std::string target = folder_ + "/target";
  std::filesystem::create_symlink(target, name);
  open_log_file(nullptr, kNobody, file_);
  EXPECT_EQ(file_.path, name + ".1");
  EXPECT_FALSE(std::filesystem::exists(target));
  remove_default_files();
}

TEST_F(LogFileTest, ThePidStandsWhereTheNameSaysSo) {
  open_log_file((folder_ + "/a%p-%p%%q%").c_str(), 42, file_);
  EXPECT_GE(file_.fd, 0);
  EXPECT_EQ(file_.path, folder_ + "/a42-42%%q%");
}

TEST_F(LogFileTest, NamesThatCannotBeOpened) {
  open_log_file(folder_.c_str(), 42, file_);
  EXPECT_EQ(file_.error, EISDIR);
  EXPECT_EQ(file_.path, folder_);
  LogFile missing;
  open_log_file((folder_ + "/no/file").c_str(), 42, missing);
  EXPECT_EQ(missing.error, ENOENT);
  LogFile too_long;
  open_log_file(std::string(2 * kPathMax, 'x').c_str(), 42, too_long);
  EXPECT_EQ(too_long.error, ENAMETOOLONG);
  EXPECT_EQ(std::string(too_long.path), std::string(kPathMax, 'x'));
}

TEST_F(LogFileTest, APipeWithoutAReaderHoldsNobodyUp) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  open_log_file(pipe.c_str(), 42, file_);
  EXPECT_EQ(file_.error, ENXIO);
}

TEST_F(LogFileTest, ErrorsInWords) {
  Text<64> text;
  append_error(text, EACCES).append('|');
  append_error(text, EROFS).append('|');
  append_error(text, EMFILE);
  EXPECT_EQ(std::string(text.c_str()), "permission denied|read-only file system|error 24");
}

}  // namespace
}  // namespace nvs::interposer::debug
