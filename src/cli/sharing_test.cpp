// SPDX-License-Identifier: Apache-2.0
#include "cli/sharing.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace nvs::cli {
namespace {

RunOptions sharing_options() {
  RunOptions options;
  options.no_daemon = true;
  return options;
}

TEST(Sharing, ARunIsSixteenDigits) {
  EXPECT_TRUE(is_run("0123456789abcdef"));
  EXPECT_TRUE(is_run("FFFFFFFFFFFFFFFF"));
  for (const char* wrong : {"", "1", "0000000000000000", "0123456789abcdeg", "0123456789abcdef0"}) {
    EXPECT_FALSE(is_run(wrong)) << wrong;
  }
}

TEST(Sharing, EachRunIsAnother) {
  const TestFolder folder;
  SharingRequest request;
  request.folder = folder.path("f");
  const auto first = arrange_sharing(sharing_options(), request);
  const auto second = arrange_sharing(sharing_options(), request);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(is_run(first->run));
  EXPECT_NE(first->run, second->run);
  EXPECT_EQ(first->folder, folder.path("f"));
  EXPECT_EQ(first->warning, "");
}

TEST(Sharing, AnInnerRunBelongsToTheOuterOne) {
  const TestFolder folder;
  SharingRequest request;
  request.folder = folder.path("f");
  request.run = "00000000000000aa";
  const auto sharing = arrange_sharing(sharing_options(), request);
  ASSERT_TRUE(sharing);
  EXPECT_EQ(sharing->run, "00000000000000aa");
}

TEST(Sharing, VariablesAreChecked) {
  const auto complaint = [](const SharingRequest& request) {
    const auto sharing = arrange_sharing(sharing_options(), request);
    return sharing ? "" : sharing.error().text;
  };
  SharingRequest request;
  request.folder = "relative";
  EXPECT_EQ(complaint(request), "NVSHARE_FOLDER is 'relative': it takes an absolute path");
  request = {};
  request.run = "12";
  EXPECT_EQ(complaint(request), "NVSHARE_RUN is '12': it takes 16 hexadecimal digits; unset it");
  request = {};
  request.priority = "urgent";
  EXPECT_EQ(complaint(request), "NVSHARE_PRIORITY is 'urgent': it takes low, normal or high");
}

}  // namespace
}  // namespace nvs::cli
