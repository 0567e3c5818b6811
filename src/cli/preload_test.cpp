// SPDX-License-Identifier: Apache-2.0
#include "cli/preload.h"

#include <vector>

#include <gtest/gtest.h>

namespace nvs::cli {
namespace {

const std::string kOurLibrary = "/opt/lib/libnvshare.so";

std::string compose(std::string_view inherited, const std::vector<std::string>& needed = {}) {
  return compose_preload(inherited, kOurLibrary, needed);
}

TEST(Preload, AloneIfNothingWasThere) {
  EXPECT_EQ(compose(""), kOurLibrary);
  EXPECT_EQ(compose(" : "), kOurLibrary);
}

TEST(Preload, InFrontOfWhatIsThere) {
  EXPECT_EQ(compose("/a.so"), kOurLibrary + ":/a.so");
  EXPECT_EQ(compose("/a.so /b.so:libc.so"), kOurLibrary + ":/a.so:/b.so:libc.so");
  EXPECT_EQ(compose(":/a.so::  /b.so:"), kOurLibrary + ":/a.so:/b.so");
}

TEST(Preload, NeverTwice) {
  EXPECT_EQ(compose(kOurLibrary), kOurLibrary);
  EXPECT_EQ(compose("/a.so:" + kOurLibrary), kOurLibrary + ":/a.so");
  EXPECT_EQ(compose(compose("/a.so")), compose("/a.so"));
  EXPECT_EQ(compose("/usr/lib/nvshare/libnvshare.so:libnvshare.so:/a.so"), kOurLibrary + ":/a.so");
  EXPECT_EQ(compose("/x/libnvshare.so.old"), kOurLibrary + ":/x/libnvshare.so.old");
  EXPECT_EQ(compose_preload("/x/mine.so:/a.so", "/x/mine.so", {}), "/x/mine.so:/a.so");
}

TEST(Preload, SanitizerRuntimesStayFirst) {
  EXPECT_EQ(compose("libasan.so.8"), "libasan.so.8:" + kOurLibrary);
  EXPECT_EQ(compose("/a.so:/usr/lib/libtsan.so.2"),
            "/usr/lib/libtsan.so.2:" + kOurLibrary + ":/a.so");
  EXPECT_EQ(compose(kOurLibrary + ":/x/libclang_rt.asan-x86_64.so"),
            "/x/libclang_rt.asan-x86_64.so:" + kOurLibrary);
}

TEST(Preload, AProgramBuiltWithAddressSanitizerGetsItsRuntimeFirst) {
  EXPECT_EQ(compose("", {"libasan.so.8", "libc.so.6"}), "libasan.so.8:" + kOurLibrary);
  EXPECT_EQ(compose("/a.so", {"libc.so.6", "libasan.so.6"}),
            "libasan.so.6:" + kOurLibrary + ":/a.so");
  EXPECT_EQ(compose("/x/libasan.so.8:/a.so", {"libasan.so.8"}),
            "/x/libasan.so.8:" + kOurLibrary + ":/a.so");
}

TEST(Preload, ThreadSanitizerIsNotForcedOnAProgramsChildren) {
  EXPECT_EQ(compose("", {"libtsan.so.2", "libc.so.6"}), kOurLibrary);
}

TEST(Preload, RuntimesAreKnownByName) {
  for (const char* path :
       {"libasan.so", "libasan.so.8", "/usr/lib/libtsan.so.2", "/x/libclang_rt.tsan-x86_64.so"}) {
    EXPECT_TRUE(is_sanitizer_runtime(path)) << path;
  }
  for (const char* path : {"", "libc.so.6", "mylibasan.so", "/libasan.so/a.so", "libubsan.so.1"}) {
    EXPECT_FALSE(is_sanitizer_runtime(path)) << path;
  }
}

TEST(Preload, PathsThatTheLoaderWouldMisread) {
  EXPECT_TRUE(can_be_preloaded("/opt/my-lib_1.0/libnvshare.so"));
  EXPECT_FALSE(can_be_preloaded("/my libs/libnvshare.so"));
  EXPECT_FALSE(can_be_preloaded("/a:b/libnvshare.so"));
  EXPECT_FALSE(can_be_preloaded("/$LIB/libnvshare.so"));
}

}  // namespace
}  // namespace nvs::cli
