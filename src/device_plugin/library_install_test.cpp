// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/library_install.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/test_folder.h"

namespace nvs::plugin {
namespace {

ino_t inode(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? file.st_ino : 0;
}

class InstallTest : public ::testing::Test {
 protected:
  InstalledLibrary install(const std::string& content, const std::string& version = "1.0") {
    const auto done =
        install_library(folder_.write("libnvshare.so", content), folder_.path("host"), version);
    EXPECT_TRUE(done) << done.error().message();
    return done.value_or(InstalledLibrary{});
  }
  std::string on_host(const std::string& path) const { return "host/" + path; }
  TestFolder folder_;
};

TEST_F(InstallTest, TheLibraryAndWhatLoadsItLieTogether) {
  const InstalledLibrary installed = install("code");
  EXPECT_TRUE(installed.folder.starts_with("lib/1.0-"));
  EXPECT_EQ(folder_.read(on_host(installed.library)), "code");
  EXPECT_EQ(folder_.read(on_host(installed.preload)), "/usr/lib/nvshare/libnvshare.so\n");
  struct stat file {};
  ASSERT_EQ(::stat(folder_.path(on_host(installed.preload)).c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0644U);  // every user of a container loads by it
}

TEST_F(InstallTest, AnotherBuildHasAnotherPathAndTheOldOneStays) {
  const InstalledLibrary old = install("code");
  const ino_t before = inode(folder_.path(on_host(old.library)));
  const InstalledLibrary same = install("code");
  EXPECT_EQ(same.library, old.library);
  EXPECT_EQ(inode(folder_.path(on_host(old.library))), before);
  const InstalledLibrary next = install("new code");
  EXPECT_NE(next.library, old.library);
  EXPECT_EQ(folder_.read(on_host(old.library)), "code");
  EXPECT_NE(install("code", "1.1").library, old.library);
}

TEST_F(InstallTest, WhatWasCutShortIsReplacedAsAWhole) {
  const InstalledLibrary installed = install("code");
  const std::string path = folder_.path(on_host(installed.library));
  const ino_t before = inode(path);
  folder_.write(on_host(installed.library), "co");
  install("code");
  EXPECT_EQ(folder_.read(on_host(installed.library)), "code");
  // Whoever has the old file mapped keeps it.
  EXPECT_NE(inode(path), before);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(folder_.path(on_host(installed.folder)))) {
    ++files;
  }
  EXPECT_EQ(files, 2U);
}

TEST_F(InstallTest, OtherVersionsGoOnlyWhenTold) {
  install("one");
  install("two");
  const InstalledLibrary kept = install("three");
  EXPECT_EQ(remove_other_versions(folder_.path("host"), kept).size(), 2U);
  EXPECT_EQ(folder_.read(on_host(kept.library)), "three");
  EXPECT_TRUE(remove_other_versions(folder_.path("host"), kept).empty());
}

TEST_F(InstallTest, AMissingLibraryIsAnError) {
  const auto done = install_library(folder_.path("none"), folder_.path("host"), "1.0");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().sys, ENOENT);
  EXPECT_FALSE(folder_.has("host"));
}

}  // namespace
}  // namespace nvs::plugin
