// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/offered_names.h"

#include <array>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(OfferedNames, SeveralPluginsAtOnceForgetNothing) {
  const TestFolder root;
  constexpr int kPlugins = 6;
  constexpr int kNamesEach = 30;
  const auto name = [](int plugin, int number) {
    return "a/" + std::to_string(plugin) + "-" + std::to_string(number);
  };
  std::array<int, 2> start{};
  ASSERT_EQ(::pipe(start.data()), 0);
  std::vector<pid_t> plugins;
  for (int plugin = 0; plugin < kPlugins; ++plugin) {
    plugins.push_back(::fork());
    if (plugins.back() != 0) continue;
    ::close(start[1]);
    char nothing = 0;
    bool is_good = ::read(start[0], &nothing, 1) == 0;  // all begin when the pipe ends
    for (int number = 0; number < kNamesEach; ++number) {
      is_good = remember_offered(root.path(), {name(plugin, number)}) && is_good;
    }
    ::_exit(is_good ? 0 : 1);
  }
  ::close(start[0]);
  ::close(start[1]);
  for (const pid_t plugin : plugins) {
    int status = 1;
    EXPECT_EQ(::waitpid(plugin, &status, 0), plugin);
    EXPECT_EQ(status, 0);
  }
  Names all;
  for (int plugin = 0; plugin < kPlugins; ++plugin) {
    for (int number = 0; number < kNamesEach; ++number) all.insert(name(plugin, number));
  }
  EXPECT_EQ(offered_ever(root.path()), all);
}

TEST(OfferedNames, WhatCannotBeReadIsNotBegunAnew) {
  const TestFolder root;
  std::filesystem::create_directories(root.path(std::string(kOfferedNamesFile) + "/folder"));
  EXPECT_FALSE(remember_offered(root.path(), {"a/b"}));
  EXPECT_EQ(offered_ever(root.path()), std::nullopt);
}

}  // namespace
}  // namespace nvs::plugin
