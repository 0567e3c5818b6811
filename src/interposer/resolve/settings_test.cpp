// SPDX-License-Identifier: Apache-2.0
#include "interposer/resolve/settings.h"

#include <utility>

#include <gtest/gtest.h>

namespace nvs::interposer {
namespace {

Settings read(std::initializer_list<const char*> entries) {
  const char* environment[8] = {};
  std::size_t count = 0;
  for (const char* entry : entries) environment[count++] = entry;
  return read_settings(environment);
}

TEST(SettingsTest, NothingIsOnByDefault) {
  for (const Settings& settings : {read({}), read_settings(nullptr), read({"HOME=/", "=", ""})}) {
    EXPECT_FALSE(settings.disabled);
    EXPECT_FALSE(settings.debug);
    EXPECT_FALSE(settings.oversubscribe);
    EXPECT_EQ(settings.debug_file, nullptr);
  }
}

TEST(SettingsTest, EmptyAndZeroMeanNo) {
  EXPECT_FALSE(read({"NVSHARE_DISABLE="}).disabled);
  EXPECT_FALSE(read({"NVSHARE_DISABLE=0"}).disabled);
  EXPECT_FALSE(read({"NVSHARE_DEBUG=0"}).debug);
  EXPECT_FALSE(read({"NVSHARE_ENABLE_SINGLE_OVERSUB=0"}).oversubscribe);
}

TEST(SettingsTest, AnythingElseMeansYes) {
  for (const char* entry : {"NVSHARE_DISABLE=1", "NVSHARE_DISABLE=true", "NVSHARE_DISABLE=00"}) {
    EXPECT_TRUE(read({entry}).disabled) << entry;
  }
  EXPECT_TRUE(read({"NVSHARE_DEBUG=yes"}).debug);
  EXPECT_TRUE(read({"NVSHARE_ENABLE_SINGLE_OVERSUB=1"}).oversubscribe);
}

TEST(SettingsTest, NamesAreWholeNames) {
  const Settings settings = read({"NVSHARE_DISABLED=1", "NVSHARE_DEBU=1", "XNVSHARE_DEBUG=1"});
  EXPECT_FALSE(settings.disabled);
  EXPECT_FALSE(settings.debug);
}

TEST(SettingsTest, TheFileIsSeparate) {
  const Settings settings = read({"NVSHARE_DEBUG_FILE=/tmp/a", "NVSHARE_DEBUG=1"});
  EXPECT_TRUE(settings.debug);
  EXPECT_STREQ(settings.debug_file, "/tmp/a");
  EXPECT_FALSE(read({"NVSHARE_DEBUG_FILE=/tmp/a"}).debug);
}

TEST(SettingsTest, LimitsAreTextsAndWhoseTheyAreIsSaidApart) {
  const Settings settings = read(
      {"NVSHARE_GPU_MEMORY_LIMIT=4Gi", "NVSHARE_GPU_CORE_LIMIT=40", "NVSHARE_LIMITS_OF_RUN=1"});
  EXPECT_STREQ(settings.memory_limit, "4Gi");
  EXPECT_STREQ(settings.core_limit, "40");
  EXPECT_TRUE(settings.memory_of_run && settings.cores_of_run);
  EXPECT_EQ(read({}).memory_limit, nullptr);
  const auto whose = [](const char* variable) {
    const Settings read_so = read({variable});
    return std::pair(read_so.memory_of_run, read_so.cores_of_run);
  };
  EXPECT_EQ(whose("NVSHARE_LIMITS_OF_RUN=0"), std::pair(false, false));
  EXPECT_EQ(whose("NVSHARE_LIMITS_OF_RUN="), std::pair(false, false));
  EXPECT_EQ(whose("NVSHARE_LIMITS_OF_RUN=memory"), std::pair(true, false));
  EXPECT_EQ(whose("NVSHARE_LIMITS_OF_RUN=cores"), std::pair(false, true));
  EXPECT_EQ(whose("NVSHARE_LIMITS_OF_RUN=memory,cores"), std::pair(true, true));
}

}  // namespace
}  // namespace nvs::interposer
