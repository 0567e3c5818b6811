// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/output_file.h"

#include <csignal>
#include <filesystem>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test_folder.h"
#include "base/unique_fd.h"

namespace nvs::cli {
namespace {

// While it lives no file grows beyond some bytes, as on a disk that is full.
class FullDisk {
 public:
  FullDisk() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit small{10, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  }
  ~FullDisk() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

std::size_t count_in(const TestFolder& folder) {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Iterator(folder.path()), Iterator()));
}

TEST(OutputFile, ReplacesWhatWasThereAndKeepsItsRights) {
  const TestFolder folder;
  const std::string path = folder.write("t", "older and longer");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(write_output_file(path, "new"));
  EXPECT_EQ(folder.read("t"), "new");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  ASSERT_TRUE(write_output_file(folder.path("another"), "one"));
  EXPECT_EQ(folder.read("another"), "one");
  EXPECT_EQ(count_in(folder), 2U);
}

TEST(OutputFile, WhatWasThereStaysWhereThereIsNoRoom) {
  const TestFolder folder;
  const std::string path = folder.write("t", "older");
  {
    const FullDisk disk;
    EXPECT_FALSE(write_output_file(path, "more than there is room for"));
    EXPECT_FALSE(write_output_file(folder.path("another"), "more than there is room for"));
  }
  EXPECT_EQ(folder.read("t"), "older");
  EXPECT_EQ(count_in(folder), 1U) << "nothing half done is left";
}

TEST(OutputFile, ALinkStaysOneAndItsTargetIsWritten) {
  const TestFolder folder;
  folder.write("target", "older");
  std::filesystem::create_symlink("target", folder.path("link"));
  std::filesystem::create_symlink("none", folder.path("dangling"));
  ASSERT_TRUE(write_output_file(folder.path("link"), "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
  EXPECT_EQ(folder.read("target"), "new");
  ASSERT_TRUE(write_output_file(folder.path("dangling"), "made"));
  EXPECT_EQ(folder.read("none"), "made");
}

TEST(OutputFile, APipeIsWrittenAsItIs) {
  const TestFolder folder;
  const std::string path = folder.path("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const UniqueFd reader{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  ASSERT_TRUE(reader);
  ASSERT_TRUE(write_output_file(path, "text"));
  char said[8] = {};
  EXPECT_EQ(::read(reader.get(), said, sizeof said), 4);
  EXPECT_STREQ(said, "text");
  EXPECT_TRUE(write_output_file("/dev/null", "text"));
  EXPECT_FALSE(write_output_file("/dev/full", "text"));
}

}  // namespace
}  // namespace nvs::cli
