// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/offered_names.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace nvs::plugin {
namespace {

using Names = std::set<std::string>;

TEST(OfferedNames, NamesAreAddedAndNeverForgotten) {
  const TestFolder root;
  EXPECT_EQ(offered_ever(root.path()), std::nullopt);
  ASSERT_TRUE(remember_offered(root.path(), {"nvshare.com/gpu"}));
  ASSERT_TRUE(remember_offered(root.path(), {"nvshare.com/gpu", "nvidia.com/gpu"}));
  ASSERT_TRUE(remember_offered(root.path(), {}));
  EXPECT_EQ(root.read(kOfferedNamesFile), "nvshare.com/gpu\nnvidia.com/gpu\n");
  EXPECT_EQ(offered_ever(root.path()), (Names{"nvidia.com/gpu", "nvshare.com/gpu"}));
}

TEST(OfferedNames, WhatIsFullMeansAnyName) {
  const TestFolder root;
  Names many;
  for (std::size_t i = 0; i + 1 < kOfferedNamesMax; ++i) many.insert("a/" + std::to_string(i));
  ASSERT_TRUE(remember_offered(root.path(), many));
  EXPECT_EQ(offered_ever(root.path()), many);
  ASSERT_TRUE(remember_offered(root.path(), {"b/1", "b/2"}));
  EXPECT_EQ(offered_ever(root.path()), std::nullopt);
  const std::string full = root.read(kOfferedNamesFile);
  ASSERT_TRUE(remember_offered(root.path(), {"b/3"}));
  EXPECT_EQ(root.read(kOfferedNamesFile), full);
}

TEST(OfferedNames, WhatCannotBeReadIsNotBegunAnew) {
  const TestFolder root;
  std::filesystem::create_directories(root.path(std::string(kOfferedNamesFile) + "/folder"));
  EXPECT_FALSE(remember_offered(root.path(), {"a/b"}));
  EXPECT_EQ(offered_ever(root.path()), std::nullopt);
}

}  // namespace
}  // namespace nvs::plugin
