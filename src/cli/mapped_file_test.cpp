// SPDX-License-Identifier: Apache-2.0
#include "cli/mapped_file.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/test_folder.h"

namespace nvs::cli {
namespace {

TEST(MappedFile, HasTheBytesOfTheFile) {
  const TestFolder folder;
  const auto file = MappedFile::open(folder.write("f", "abc"));
  ASSERT_TRUE(file);
  ASSERT_EQ(file->bytes().size(), 3u);
  EXPECT_EQ(file->bytes()[2], std::byte{'c'});
}

TEST(MappedFile, AnEmptyFileHasNone) {
  const TestFolder folder;
  const auto file = MappedFile::open(folder.write("f", ""));
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->bytes().empty());
}

TEST(MappedFile, OnlyRegularFilesAreOpened) {
  const TestFolder folder;
  EXPECT_EQ(MappedFile::open(folder.path("absent")).error().sys, ENOENT);
  EXPECT_EQ(MappedFile::open(folder.path("")).error().code, Errc::kInvalidInput);
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(pipe).error().code, Errc::kInvalidInput);
}

}  // namespace
}  // namespace nvs::cli
