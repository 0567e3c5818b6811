// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/memory/arena.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::sim {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kCapacity = 64 * kPage;

std::uint32_t word(const Arena& arena, std::uint64_t offset) {
  std::uint32_t value = 0;
  std::memcpy(&value, arena.at(offset), sizeof value);
  return value;
}

TEST(Arena, FreshMemoryIsPoisonWhereItIsTouchedAndNotBeyond) {
  Arena arena(kCapacity);
  ASSERT_TRUE(arena.ok());
  const std::uint64_t extent = arena.take(4 * kPage).value();
  arena.poison_if_fresh(extent + kPage + 10, 1);
  EXPECT_EQ(word(arena, extent + kPage), kPoison);
  EXPECT_EQ(word(arena, extent + 2 * kPage - 4), kPoison);
  EXPECT_EQ(word(arena, extent), 0U) << "untouched blocks cost no memory";
  EXPECT_EQ(word(arena, extent + 2 * kPage), 0U);
}

TEST(Arena, TouchAcrossABorderPoisonsBothSides) {
  Arena arena(kCapacity);
  const std::uint64_t extent = arena.take(4 * kPage).value();
  arena.poison_if_fresh(extent + kPage - 1, 2);
  EXPECT_EQ(word(arena, extent), kPoison);
  EXPECT_EQ(word(arena, extent + kPage), kPoison);
  EXPECT_EQ(word(arena, extent + 2 * kPage), 0U);
  arena.poison_if_fresh(extent + 3 * kPage, 0);
  EXPECT_EQ(word(arena, extent + 3 * kPage), 0U) << "nothing was touched";
}

TEST(Arena, SecondTouchKeepsWhatWasWritten) {
  Arena arena(kCapacity);
  const std::uint64_t extent = arena.take(kPage).value();
  arena.poison_if_fresh(extent, kPage);
  std::memset(arena.at(extent), 7, kPage);
  arena.poison_if_fresh(extent, kPage);
  EXPECT_EQ(word(arena, extent + kPage - 4), 0x07070707U);
}

TEST(Arena, MemoryThatIsGivenBackIsFreshAgain) {
  Arena arena(kCapacity);
  const std::uint64_t first = arena.take(2 * kPage).value();
  arena.poison_if_fresh(first, 2 * kPage);
  std::memset(arena.at(first), 7, 2 * kPage);
  arena.give_back(first, 2 * kPage);
  const std::uint64_t second = arena.take(2 * kPage).value();
  EXPECT_EQ(second, first);
  arena.poison_if_fresh(second, 2 * kPage);
  EXPECT_EQ(word(arena, second), kPoison);
  EXPECT_EQ(word(arena, second + 2 * kPage - 4), kPoison);
}

TEST(Arena, NeighboursThatAreFreeBecomeOne) {
  Arena arena(kCapacity);
  std::vector<std::uint64_t> extents;
  while (const auto extent = arena.take(kPage)) extents.push_back(*extent);
  EXPECT_FALSE(arena.take(kPage));
  // In an order that joins to the left, to the right, and to both sides.
  for (const std::size_t i : {1, 3, 2, 0, 4}) arena.give_back(extents[i], kPage);
  EXPECT_EQ(arena.take(5 * kPage), extents[0]);
  EXPECT_FALSE(arena.take(kPage));
}

// Whatever fits the card must fit the arena, however its free room is scattered.
TEST(Arena, RoomForTheWholeCapacityInSpiteOfFragments) {
  Arena arena(kCapacity);
  std::mt19937_64 random(7);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> held;
  std::uint64_t used = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bytes = (1 + random() % 16) * kPage;
    if (used + bytes <= kCapacity) {
      const auto extent = arena.take(bytes);
      ASSERT_TRUE(extent) << "after " << i << " steps, " << used << " bytes used";
      for (const auto& [offset, size] : held) {
        ASSERT_TRUE(*extent + bytes <= offset || offset + size <= *extent) << "they overlap";
      }
      held.emplace_back(*extent, bytes);
      used += bytes;
    } else {
      const auto victim = held.begin() + static_cast<std::ptrdiff_t>(random() % held.size());
      arena.give_back(victim->first, victim->second);
      used -= victim->second;
      held.erase(victim);
    }
  }
}

TEST(Arena, PoisonIsNoNumber) {
  std::vector<float> values(3);
  poison(reinterpret_cast<std::byte*>(values.data()), sizeof(float) * values.size());
  for (const float value : values) EXPECT_NE(value, value);
}

}  // namespace
}  // namespace nvs::sim
