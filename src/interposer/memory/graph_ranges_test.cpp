// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/graph_ranges.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace nvs::interposer::memory {
namespace {

class GraphRangesTest : public testing::Test {
 protected:
  ~GraphRangesTest() override { ranges_.give_back(); }

  // What was new of it, by both ways to tell.
  std::uint64_t add(std::uint64_t begin, std::uint64_t bytes) {
    const std::uint64_t fresh = ranges_.count_new(begin, bytes);
    EXPECT_TRUE(ranges_.add(begin, bytes, ++record_));
    EXPECT_EQ(ranges_.count_new(begin, bytes), 0U);
    return fresh;
  }

  GraphRanges ranges_;
  std::uint64_t record_ = 0;
};

TEST_F(GraphRangesTest, WhatIsThereAlreadyIsNotNew) {
  EXPECT_EQ(add(1000, 100), 100U);
  EXPECT_EQ(add(1000, 100), 0U);
  EXPECT_EQ(add(1010, 10), 0U);
  EXPECT_EQ(add(1050, 100), 50U);
  EXPECT_EQ(add(900, 50), 50U);
  EXPECT_EQ(add(800, 400), 100U + 50U + 50U);
  EXPECT_EQ(add(1200, 1), 1U);
  EXPECT_EQ(add(0, 10), 10U);
  EXPECT_EQ(add(500, 0), 0U);
}

TEST_F(GraphRangesTest, EachRangeHasTheRecordThatItCameWith) {
  add(10, 10);
  add(40, 10);
  add(0, 60);
  ASSERT_EQ(ranges_.size(), 5U);
  constexpr std::uint64_t kRecords[] = {3, 1, 3, 2, 3};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(ranges_.record(i), kRecords[i]) << i;
}

TEST_F(GraphRangesTest, AnyOrderGivesTheUnion) {
  std::mt19937 random(7);
  std::set<std::uint64_t> all;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t begin = random() % 20'000;
    const std::uint64_t bytes = random() % 12;
    std::size_t fresh = 0;
    for (std::uint64_t at = begin; at < begin + bytes; ++at) fresh += all.insert(at).second ? 1 : 0;
    ASSERT_EQ(add(begin, bytes), fresh) << i;
  }
}

}  // namespace
}  // namespace nvs::interposer::memory
