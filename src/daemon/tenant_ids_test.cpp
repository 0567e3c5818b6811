// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenant_ids.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

class TenantIdsTest : public ::testing::Test {
 protected:
  TenantIds load(const std::string& expected_remark = "") {
    std::string remark;
    TenantIds ids = TenantIds::load(folder_.path(), remark);
    EXPECT_EQ(remark, expected_remark);
    return ids;
  }
  std::string path() const { return folder_.path("tenant_ids"); }

  TestFolder folder_;
};

std::uint64_t take(TenantIds& ids, const std::string& key) {
  return static_cast<std::uint64_t>(ids.take(key));
}

TEST_F(TenantIdsTest, ATenantHasItsNumberAfterARestartWhoeverComesFirst) {
  TenantIds before = load();
  EXPECT_EQ(take(before, "process:1:1"), 1U);
  EXPECT_EQ(take(before, "container:/a b"), 2U);
  TenantIds after = load();
  EXPECT_EQ(take(after, "container:/a b"), 2U);
  EXPECT_EQ(take(after, "process:3:3"), 3U);
  EXPECT_EQ(take(after, "process:1:1"), 1U);
}

TEST_F(TenantIdsTest, NoNumberIsGivenTwice) {
  TenantIds ids = load();
  take(ids, "a");
  ids.release("a");
  EXPECT_EQ(take(ids, "a"), 2U);
  ids.release("a");
  TenantIds after = load();
  EXPECT_EQ(after.size(), 0U);
  EXPECT_EQ(take(after, "b"), 3U);
  after.release("b");
  TenantIds later = load();
  EXPECT_EQ(take(later, "c"), 4U);
}

TEST_F(TenantIdsTest, WhoDoesNotComeBackToOneDaemonMayComeBackToTheNext) {
  TenantIds before = load();
  take(before, "a");
  load();
  load();
  TenantIds after = load();
  EXPECT_EQ(take(after, "b"), 2U);
  EXPECT_EQ(take(after, "a"), 1U);
}

TEST_F(TenantIdsTest, TheFileStaysSmall) {
  TenantIds ids = load();
  take(ids, "stays");
  for (std::size_t i = 0; i < 2 * kTenantIdsSpareLines; ++i) {
    take(ids, "goes");
    ids.release("goes");
  }
  const std::string text = folder_.read("tenant_ids");
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), kTenantIdsSpareLines + 10);
  TenantIds after = load();
  EXPECT_EQ(take(after, "stays"), 1U);
  EXPECT_EQ(take(after, "new"), 2 * kTenantIdsSpareLines + 2);
}

TEST_F(TenantIdsTest, NoMoreAreKeptThanThereCanBe) {
  TenantIds ids = load();
  for (std::size_t i = 0; i < kTenantIdsMax + 2; ++i) take(ids, std::to_string(i));
  TenantIds after = load();
  EXPECT_EQ(after.size(), kTenantIdsMax);
  EXPECT_EQ(take(after, "2"), 3U);
  EXPECT_EQ(take(after, "1"), kTenantIdsMax + 3);
}

TEST_F(TenantIdsTest, WhatIsNotUnderstoodIsPassedOver) {
  folder_.write(
      "tenant_ids",
      "=7\n+3 a\n+3 thief\n\n+\n+x b\n+0 c\n+18446744073709551615 d\n-3x\n*4\n+9 e\n+8 f");
  TenantIds ids = load(path() + ": lines that are not understood: 9");
  EXPECT_EQ(take(ids, "a"), 3U);
  EXPECT_EQ(take(ids, "e"), 9U);
  EXPECT_EQ(take(ids, "thief"), 10U);
  load();  // without a remark: the file was written anew
}

TEST_F(TenantIdsTest, NobodyIsRefusedWhereNothingCanBeWritten) {
  std::filesystem::create_directory(path());
  std::string remark;
  TenantIds ids = TenantIds::load(folder_.path(), remark);
  EXPECT_NE(remark, "");
  EXPECT_EQ(take(ids, "a"), 1U);
  EXPECT_EQ(take(ids, "b"), 2U);
  std::filesystem::remove(path());
  ids.release("a");
  TenantIds after = load();
  EXPECT_EQ(after.size(), 1U);
  EXPECT_EQ(take(after, "b"), 2U);
}

TEST_F(TenantIdsTest, WithoutAFolderTheyCountFromOne) {
  TenantIds ids;
  EXPECT_EQ(take(ids, "a"), 1U);
  EXPECT_EQ(take(ids, "b"), 2U);
  EXPECT_EQ(take(ids, "a"), 1U);
}

}  // namespace
}  // namespace nvs::daemon
