// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/arena.h"

#include <gtest/gtest.h>

#include "interposer/memory/vmm/test_pages.h"

namespace nvs::interposer::vmm {
namespace {

constexpr SpanOwner kOwner{5, 0};
constexpr std::uint64_t kArenaBase = std::uint64_t{1} << 40U;

constinit Arenas arenas_at_start;

std::uint64_t address_of(const Piece* piece) { return piece == nullptr ? 0 : piece->base; }

std::uint64_t take(Arenas& arenas, std::uint64_t bytes, const SpanOwner& owner = kOwner) {
  Took took = Took::done;
  return address_of(arenas.take(owner, bytes, took));
}

TEST(ArenaTest, EmptyHasNothing) {
  Took took = Took::done;
  EXPECT_EQ(arenas_at_start.take(kOwner, 1, took), nullptr);
  EXPECT_EQ(took, Took::no_room);
  EXPECT_EQ(arenas_at_start.give(kArenaBase), nullptr);
  EXPECT_EQ(arenas_at_start.find(kArenaBase), nullptr);
  EXPECT_EQ(arenas_at_start.bytes_of_books(), 0U);
}

TEST(ArenaTest, GrowsByWhatThereIs) {
  Arenas arenas;
  std::uint64_t base = kArenaBase;
  for (const std::uint64_t mib : {2, 2, 4, 8, 16, 32, 32, 32}) {
    ASSERT_EQ(arenas.next_bytes(kOwner), mib * kMiB);
    ASSERT_TRUE(arenas.add(kOwner, base, mib * kMiB));
    base += mib * kMiB;
  }
  EXPECT_EQ(arenas.next_bytes({5, 1}), kArenaMin);
}

TEST(ArenaTest, RefusesWhatIsNoArenaAndWhatIsNotSmall) {
  Arenas arenas;
  ASSERT_TRUE(arenas.add(kOwner, kArenaBase, 4 * kMiB));
  EXPECT_FALSE(arenas.add(kOwner, kArenaBase + 2 * kMiB, 4 * kMiB));
  EXPECT_FALSE(arenas.add(kOwner, kArenaBase - 2 * kMiB, 4 * kMiB));
  EXPECT_FALSE(arenas.add(kOwner, kArenaBase - 2 * kMiB, 8 * kMiB));
  EXPECT_FALSE(arenas.add(kOwner, kArenaBase, 4 * kMiB));
  EXPECT_FALSE(arenas.add(kOwner, 2 * kArenaBase + 256, 4 * kMiB));
  EXPECT_FALSE(arenas.add(kOwner, 2 * kArenaBase, kArenaMin - 512));
  EXPECT_FALSE(arenas.add(kOwner, 2 * kArenaBase, kArenaMax + 512));
  EXPECT_FALSE(arenas.add(kOwner, 0, 4 * kMiB));
  EXPECT_FALSE(arenas.add(kOwner, ~std::uint64_t{511}, 4 * kMiB));
  EXPECT_TRUE(arenas.add(kOwner, kArenaBase + 4 * kMiB, 4 * kMiB));
  for (const std::uint64_t bytes : {std::uint64_t{0}, kSmallEnd, UINT64_MAX}) {
    Took took = Took::done;
    EXPECT_EQ(arenas.take(kOwner, bytes, took), nullptr) << bytes;
    EXPECT_EQ(took, Took::bad_size);
  }
  EXPECT_EQ(arenas.usage(kOwner).bytes_reserved, 8 * kMiB);
}

TEST(ArenaTest, TakesTheSmallestHoleThatFits) {
  Arenas arenas;
  ASSERT_TRUE(arenas.add(kOwner, kArenaBase, 2 * kMiB));
  const std::uint64_t large = take(arenas, 4096);
  take(arenas, 512);
  const std::uint64_t small = take(arenas, 1024);
  take(arenas, 512);
  const std::uint64_t same = take(arenas, 1024);
  take(arenas, 512);
  for (const std::uint64_t hole : {large, small, same}) ASSERT_NE(arenas.give(hole), nullptr);
  EXPECT_EQ(take(arenas, 1000), small);
  EXPECT_EQ(take(arenas, 513), same);
  EXPECT_EQ(take(arenas, 1024), large);
  EXPECT_EQ(take(arenas, 3072), large + 1024);
}

TEST(ArenaTest, OwnersDoNotShare) {
  Arenas arenas;
  ASSERT_TRUE(arenas.add({5, 0}, kArenaBase, 2 * kMiB));
  for (const SpanOwner& other : {SpanOwner{4, 0}, SpanOwner{6, 0}, SpanOwner{5, 1}, SpanOwner{}}) {
    EXPECT_EQ(take(arenas, 512, other), 0U);
  }
  EXPECT_EQ(take(arenas, 512, {5, 0}), kArenaBase);
}

TEST(ArenaTest, FindsByAnyAddressInside) {
  Arenas arenas;
  ASSERT_TRUE(arenas.add(kOwner, kArenaBase, 2 * kMiB));
  take(arenas, 512);
  const std::uint64_t address = take(arenas, 700);
  EXPECT_EQ(arenas.find(address)->asked, 700U);
  EXPECT_EQ(address_of(arenas.find(address + 1023)), address);
  EXPECT_EQ(address_of(arenas.find(address - 1)), kArenaBase);
  EXPECT_EQ(arenas.find(address + 1024), nullptr);
  take(arenas, 512);
  EXPECT_EQ(address_of(arenas.find(address + 1024)), address + 1024);
  EXPECT_EQ(arenas.find(kArenaBase - 1), nullptr);
  EXPECT_EQ(arenas.give(address + 512), nullptr);  // only its beginning can be freed
  EXPECT_TRUE(arenas.give(address) != nullptr && arenas.give(address) == nullptr);
}

TEST(ArenaTest, GoesWhenEmptyOrWithItsContext) {
  Arenas arenas;
  ASSERT_TRUE(arenas.add(kOwner, kArenaBase, 2 * kMiB));
  ASSERT_TRUE(arenas.add(kOwner, kArenaBase + 2 * kMiB, 4 * kMiB));
  const std::uint64_t address = take(arenas, 512);
  EXPECT_FALSE(arenas.remove_empty(kArenaBase));
  EXPECT_FALSE(arenas.remove(kArenaBase + 512));
  const Span* arena = arenas.give(address);
  EXPECT_TRUE(arena->base == kArenaBase && arena->is_empty());
  EXPECT_TRUE(arenas.remove_empty(kArenaBase));
  EXPECT_EQ(arenas.usage(kOwner).bytes_reserved, 4 * kMiB);
  take(arenas, 512);
  EXPECT_EQ(arenas.next(0)->base, kArenaBase + 2 * kMiB);
  EXPECT_TRUE(arenas.remove(kArenaBase + 2 * kMiB));
  EXPECT_EQ(arenas.usage(kOwner).spans, 0U);
  EXPECT_EQ(arenas.bytes_of_books(), 0U);
}

// The memory for the books ends at each of the points where some is needed, in turn.
TEST(ArenaTest, WithoutMemoryForTheBooksNothingChanges) {
  for (std::uint64_t shift = 0; shift < 6; ++shift) {
    TestPages::calls_left = 1;
    Arenas arenas{&TestPages::map};
    std::uint64_t arena = 0;
    for (; arena < shift; ++arena) arenas.add({1, 0}, kArenaBase + arena * kArenaMin, kArenaMin);
    std::size_t before = 0;
    do {
      before = arenas.bytes_of_books();
    } while (arenas.add({++arena, 0}, kArenaBase + arena * kArenaMin, kArenaMin));
    EXPECT_EQ(arenas.bytes_of_books(), before);
    EXPECT_EQ(arenas.usage({arena, 0}).spans, 0U);

    const std::uint64_t other = arena - 1;
    std::uint64_t pieces = 0;
    Took took = Took::done;
    while (arenas.take({other, 0}, 512, took) != nullptr) ++pieces;
    EXPECT_EQ(took, Took::no_memory);
    EXPECT_EQ(arenas.usage({other, 0}).pieces, pieces);
    TestPages::calls_left = 1;
    EXPECT_NE(take(arenas, 512, {other, 0}), 0U);
    EXPECT_TRUE(arenas.add({arena, 0}, kArenaBase + arena * kArenaMin, kArenaMin));
    while (const Span* span = arenas.next(0)) ASSERT_TRUE(arenas.remove(span->base));
    EXPECT_EQ(arenas.bytes_of_books(), 0U);
  }
}

TEST(ArenaTest, AChildStartsEmpty) {
  Arenas arenas;
  ASSERT_TRUE(arenas.add(kOwner, kArenaBase, 2 * kMiB));
  take(arenas, 512);
  arenas.forget();
  EXPECT_EQ(arenas.find(kArenaBase), nullptr);
  EXPECT_EQ(arenas.next(0), nullptr);
  EXPECT_EQ(take(arenas, 512), 0U);
  EXPECT_EQ(arenas.usage(kOwner).bytes_reserved, 0U);
  EXPECT_TRUE(arenas.add(kOwner, kArenaBase, 2 * kMiB));
  EXPECT_EQ(take(arenas, 512), kArenaBase);
}

}  // namespace
}  // namespace nvs::interposer::vmm
