// SPDX-License-Identifier: Apache-2.0
#include "os/file_text.h"

#include <cerrno>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/test_folder.h"

namespace nvs::os {
namespace {

TEST(FileText, IsReadAsAWhole) {
  const TestFolder folder;
  const std::string text(10'000, 'x');
  EXPECT_EQ(*read_file(folder.write("long", text), text.size()), text);
  EXPECT_EQ(*read_file(folder.write("empty", ""), 0), "");
}

TEST(FileText, HasALongestLength) {
  const TestFolder folder;
  const auto text = read_file(folder.write("long", "12345"), 4);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Errc::kLimit);
}

TEST(FileText, WhatIsNoFileIsAnErrorAndNoWait) {
  const TestFolder folder;
  EXPECT_EQ(read_file(folder.path("absent"), 9).error().sys, ENOENT);
  EXPECT_EQ(read_file(folder.path(), 9).error().sys, EISDIR);
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(*read_file(folder.path("pipe"), 9), "") << "nobody writes to it";
}

}  // namespace
}  // namespace nvs::os
