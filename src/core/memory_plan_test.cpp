// SPDX-License-Identifier: Apache-2.0
#include "core/memory_plan.h"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace nvs::core {
namespace {

using Bytes = std::vector<std::uint64_t>;

Bytes bytes_of(const std::vector<MemoryShare>& shares) {
  Bytes bytes;
  for (const MemoryShare& share : shares) bytes.push_back(share.bytes);
  return bytes;
}

Bytes divided(std::uint64_t capacity, const std::vector<MemoryClaim>& claims) {
  return bytes_of(divide(capacity, claims));
}

TEST(MemoryPlan, WhoIsAloneMayHaveAll) {
  EXPECT_EQ(slack_of(12, 1, Company::alone), 12U);
  EXPECT_EQ(slack_of(12, 1, Company::shared), 6U) << "another may come to allocate";
}

TEST(MemoryPlan, HalfOfTheRestIsSharedOut) {
  EXPECT_EQ(slack_of(12, 3, Company::shared), 2U);
  EXPECT_EQ(slack_of(12, 2, Company::alone), 3U) << "two processes of one tenant";
  EXPECT_EQ(slack_of(12, 0, Company::shared), 0U);
}

TEST(MemoryPlan, OnlyTheDeficitIsTaken) {
  EXPECT_EQ(divided(16, {{12}, {12}}), (Bytes{12, 4}));
  EXPECT_EQ(divided(16, {{12}, {12}, {12}}), (Bytes{12, 4, 0})) << "the sooner the more";
}

TEST(MemoryPlan, ASmallOneFitsBesideALargeOne) {
  const auto shares = divide(16, std::vector<MemoryClaim>{{12}, {12}, {3}});
  EXPECT_EQ(bytes_of(shares), (Bytes{12, 1, 3}));
  EXPECT_TRUE(shares[2].complete);
  EXPECT_FALSE(shares[1].complete);
}

TEST(MemoryPlan, APartOfWhatIsNeededWholeIsNotGiven) {
  EXPECT_EQ(divided(16, {{12}, {5, true}, {9}}), (Bytes{12, 0, 4}));
  EXPECT_EQ(divided(16, {{12}, {4, true}, {9}}), (Bytes{12, 4, 0}));
}

TEST(MemoryPlan, NobodyIsLeftOutWhoCouldBeIn) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<MemoryClaim> claims(random() % 6);
    for (MemoryClaim& claim : claims) claim.bytes = random() % 20;
    const std::uint64_t capacity = random() % 40;
    const auto shares = divide(capacity, claims);
    const Bytes bytes = bytes_of(shares);
    const std::uint64_t sum = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
    ASSERT_LE(sum, capacity);
    for (std::size_t i = 0; i < claims.size(); ++i) {
      ASSERT_EQ(shares[i].complete, shares[i].bytes >= claims[i].bytes);
      if (shares[i].complete) continue;
      ASSERT_EQ(sum, capacity) << "somebody is out while there is room";
      ASSERT_TRUE(i > 0 || claims[0].bytes > capacity) << "the first may have all";
    }
  }
}

}  // namespace
}  // namespace nvs::core
