// SPDX-License-Identifier: Apache-2.0
#include "cli/sharing.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "wire/run_number.h"

namespace nvs::cli {
namespace {

RunOptions sharing_options() {
  RunOptions options;
  options.no_daemon = true;
  return options;
}

TEST(Sharing, EachRunIsAnother) {
  const TestFolder folder;
  SharingRequest request;
  request.folder = folder.path("f");
  const auto first = arrange_sharing(sharing_options(), request);
  const auto second = arrange_sharing(sharing_options(), request);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->run.size(), 16U);
  EXPECT_NE(wire::parse_run(first->run.c_str()), 0U);
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
  for (const char* other : {"00000000000000AA", "aa"}) {
    request.run = other;
    const auto same = arrange_sharing(sharing_options(), request);
    ASSERT_TRUE(same) << other;
    EXPECT_EQ(same->run, other);
  }
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
  request.run = "12x";
  EXPECT_EQ(complaint(request),
            "NVSHARE_RUN is '12x': it takes up to 16 hexadecimal digits, not all of them 0; "
            "unset it");
  request = {};
  request.priority = "urgent";
  EXPECT_EQ(complaint(request), "NVSHARE_PRIORITY is 'urgent': it takes low, normal or high");
}

}  // namespace
}  // namespace nvs::cli
