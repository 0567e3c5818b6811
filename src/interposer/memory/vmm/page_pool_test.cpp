// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/page_pool.h"

#include <cstring>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "interposer/memory/vmm/test_pages.h"

namespace nvs::interposer::vmm {
namespace {

constinit PagePool pool_at_start{&os::map_pages};

TEST(PagePoolTest, EmptyHoldsNothing) { EXPECT_EQ(pool_at_start.bytes_taken(), 0U); }

// Every block is filled with a byte of its own and must still have it in the end.
TEST(PagePoolTest, BlocksDoNotOverlapAndBooksBalance) {
  std::mt19937 random{5};
  PagePool pool{&os::map_pages};
  std::map<std::uint8_t*, std::pair<std::size_t, std::uint8_t>> blocks;
  for (int i = 0; i < 3000; ++i) {
    if (random() % 3 == 0 && !blocks.empty()) {
      auto block = blocks.begin();
      std::advance(block, random() % blocks.size());
      const auto [bytes, fill] = block->second;
      for (std::size_t k = 0; k < bytes; ++k) ASSERT_EQ(block->first[k], fill);
      pool.give(block->first, bytes);
      blocks.erase(block);
    } else {
      const std::size_t bytes = 1 + random() % (std::size_t{1} << (random() % 18));
      auto* block = static_cast<std::uint8_t*>(pool.take(bytes));
      ASSERT_NE(block, nullptr);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
      const auto fill = static_cast<std::uint8_t>(random());
      std::memset(block, fill, bytes);
      blocks[block] = {bytes, fill};
    }
  }
  for (const auto& [block, facts] : blocks) {
    for (std::size_t k = 0; k < facts.first; ++k) ASSERT_EQ(block[k], facts.second);
    pool.give(block, facts.first);
  }
  EXPECT_EQ(pool.bytes_taken(), 0U);
}

TEST(PagePoolTest, ServesAgainWhatWasGivenBack) {
  TestPages::calls_left = 1;
  PagePool pool{&TestPages::map};
  for (int i = 0; i < 100000; ++i) {
    void* block = pool.take(200);
    ASSERT_NE(block, nullptr);
    pool.give(block, 200);
  }
  TestPages::calls_left = 1;  // the largest ones come from the system each time
  void* large = pool.take(100000);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(TestPages::calls_left, 0);
}

TEST(PagePoolTest, WithoutMemoryNothingChanges) {
  TestPages::calls_left = 0;
  PagePool pool{&TestPages::map};
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{40000}, SIZE_MAX}) {
    EXPECT_EQ(pool.take(bytes), nullptr);
  }
  EXPECT_EQ(pool.bytes_taken(), 0U);
  TestPages::calls_left = 1;
  constexpr std::size_t kTooMany = SIZE_MAX / sizeof(std::uint64_t) + 2;  // 8 bytes, if it wraps
  EXPECT_EQ(pool.make<std::uint64_t>(kTooMany), nullptr);
  EXPECT_NE(pool.take(1), nullptr);
}

TEST(PagePoolTest, MakesObjectsAnewInBlocksThatWereUsed) {
  struct Object {
    int value = 5;
  };
  PagePool pool{&os::map_pages};
  auto* first = pool.make<Object>(3);
  first[2].value = 9;
  pool.drop(first, 3);
  auto* second = pool.make<Object>(3);
  ASSERT_EQ(second, first);
  EXPECT_EQ(second[2].value, 5);
}

TEST(PagePoolTest, AChildStartsWithoutThePages) {
  TestPages::calls_left = 1;
  PagePool pool{&TestPages::map};
  void* block = pool.take(64);
  pool.give(block, 64);
  pool.forget();
  EXPECT_EQ(pool.bytes_taken(), 0U);
  EXPECT_EQ(pool.take(64), nullptr);
}

}  // namespace
}  // namespace nvs::interposer::vmm
