// SPDX-License-Identifier: Apache-2.0
#include "cli/library.h"

#include <set>

#include <elf.h>
#include <gtest/gtest.h>

namespace nvs::cli {
namespace {

constexpr ElfMachine kOurMachine = {ELFCLASS64, ELFDATA2LSB, EM_X86_64};

Outcome<std::string> choose(const LibraryRequest& request, const std::set<std::string>& files) {
  return choose_library(request, [&](const std::string& path) { return files.count(path) > 0; });
}

ElfFile good_library() {
  ElfFile file;
  file.machine = kOurMachine;
  file.native = file.shared_object = true;
  return file;
}

TEST(Library, PlacesAreTriedInOrder) {
  const LibraryRequest request = {"", "", "/opt/bin", "/data"};
  EXPECT_EQ(choose(request, {"/opt/lib/libnvshare.so", "/opt/lib/nvshare/libnvshare.so"}).value(),
            "/opt/lib/libnvshare.so");
  EXPECT_EQ(
      choose(request, {"/opt/lib/nvshare/libnvshare.so", "/usr/lib/nvshare/libnvshare.so"}).value(),
      "/opt/lib/nvshare/libnvshare.so");
  EXPECT_EQ(choose(request, {"/usr/lib/nvshare/libnvshare.so"}).value(),
            "/usr/lib/nvshare/libnvshare.so");
}

TEST(Library, WithNoneTheMessageSaysWhereItWasLookedFor) {
  const auto library = choose({"", "", "/opt/bin", "/data"}, {});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, kExitFailed);
  EXPECT_EQ(library.error().text,
            "libnvshare.so is not installed (looked for /opt/lib/libnvshare.so, "
            "/opt/lib/nvshare/libnvshare.so, /usr/lib/nvshare/libnvshare.so): name it with "
            "--library FILE");
}

TEST(Library, TheOptionGoesBeforeTheVariableAndBothBeforeThePlaces) {
  const std::set<std::string> files = {"/a.so", "/b.so", "/opt/lib/libnvshare.so"};
  EXPECT_EQ(choose({"/a.so", "/b.so", "/opt/bin", "/data"}, files).value(), "/a.so");
  EXPECT_EQ(choose({"", "/b.so", "/opt/bin", "/data"}, files).value(), "/b.so");
}

TEST(Library, ANamedOneIsUsedOrNone) {
  const std::set<std::string> files = {"/b.so", "/opt/lib/libnvshare.so"};
  const auto by_option = choose({"/a.so", "/b.so", "/opt/bin", "/data"}, files);
  ASSERT_FALSE(by_option);
  EXPECT_EQ(by_option.error().text,
            "no library /a.so: correct --library, or leave it out to use the installed one");
  const auto by_variable = choose({"", "/c.so", "/opt/bin", "/data"}, files);
  ASSERT_FALSE(by_variable);
  EXPECT_NE(by_variable.error().text.find("correct NVSHARE_LIBRARY"), std::string::npos);
}

TEST(Library, ARelativePathIsMadeAbsolute) {
  EXPECT_EQ(choose({"../x/a.so", "", "/opt/bin", "/data/me"}, {"/data/x/a.so"}).value(),
            "/data/x/a.so");
}

TEST(Library, AGoodOneGetsNoComplaint) {
  EXPECT_EQ(complaint_about_library("/a.so", good_library(), kOurMachine), std::nullopt);
}

TEST(Library, WhatTheLoaderWouldSkipIsRefused) {
  const auto text = [](const std::string& path, const Result<ElfFile>& file) {
    return complaint_about_library(path, file, kOurMachine).value_or("no complaint");
  };
  EXPECT_NE(text("/a b.so", good_library()).find("/a b.so: its path has a space"),
            std::string::npos);
  EXPECT_EQ(text("/a.so", tl::unexpected(Error::from_errno(EACCES, "open"))),
            "/a.so cannot be loaded: open: Permission denied; name another with --library");
  ElfFile other = good_library();
  other.machine.machine = EM_AARCH64;
  EXPECT_EQ(text("/a.so", other),
            "/a.so is for aarch64 and this machine is x86-64; name another with --library");
  ElfFile object = good_library();
  object.shared_object = false;
  EXPECT_EQ(text("/a.o", object), "/a.o is not a shared library; name another with --library");
  ElfFile program = good_library();
  program.program = true;
  EXPECT_EQ(text("/ls", program), "/ls is not a shared library; name another with --library");
}

}  // namespace
}  // namespace nvs::cli
