// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/region_table.h"

#include <map>

#include <gtest/gtest.h>

#include "interposer/memory/vmm/test_pages.h"

namespace nvs::interposer::vmm {
namespace {

constexpr std::uint64_t kGranularity = 2 * kMiB;
constexpr std::uint64_t kTableBase = std::uint64_t{1} << 40U;
constexpr auto kReleaseNothing = [](std::uint32_t, const Outcome&) {};

constinit RegionTable table_at_start;

RegionFacts facts_at(std::uint64_t base, std::uint64_t bytes, std::uint64_t context = 1,
                     int device = 0) {
  return {base, bytes, kGranularity, context, device, RegionKind::plain};
}

bool end(RegionTable& table, Region* region) {
  table.free(region, kReleaseNothing);
  return table.remove(region);
}

TEST(RegionTableTest, EmptyHasNothing) {
  EXPECT_EQ(table_at_start.find(kTableBase), nullptr);
  EXPECT_EQ(table_at_start.next(0), nullptr);
  EXPECT_EQ(table_at_start.newest(0), nullptr);
  EXPECT_EQ(table_at_start.oldest(-1), nullptr);
  EXPECT_EQ(table_at_start.sums(kDevicesMax).total(), 0U);
  EXPECT_EQ(table_at_start.bytes_of_books(), 0U);
}

TEST(RegionTableTest, FindsByAnyAddressInside) {
  RegionTable table;
  Region* first = table.insert(facts_at(kTableBase, kGranularity + 1));
  Region* second = table.insert(facts_at(kTableBase + 2 * kGranularity, 1));
  EXPECT_EQ(first->split().bytes, 2 * kGranularity);
  EXPECT_EQ(first->facts().bytes, kGranularity + 1);
  EXPECT_EQ(table.find(kTableBase - 1), nullptr);
  EXPECT_EQ(table.find(kTableBase), first);
  EXPECT_EQ(table.find(kTableBase + 2 * kGranularity - 1), first);
  EXPECT_EQ(table.find(kTableBase + 2 * kGranularity), second);
  EXPECT_EQ(table.find(kTableBase + 3 * kGranularity - 1), second);
  EXPECT_EQ(table.find(kTableBase + 3 * kGranularity), nullptr);
  EXPECT_EQ(table.find(UINT64_MAX), nullptr);
}

TEST(RegionTableTest, PinnedRegionsHaveSumsOfTheirOwn) {
  RegionTable table;
  Region* pinned = table.insert(facts_at(kTableBase, kChunkBytes + 1));
  Region* other = table.insert(facts_at(2 * kTableBase, 1));
  table.apply(other, 0, {.event = ChunkEvent::backed, .handle = 3});
  EXPECT_FALSE(table.pin(pinned)) << "it has no pages yet";
  table.apply(pinned, 0, {.event = ChunkEvent::backed, .handle = 1});
  EXPECT_FALSE(table.pin(pinned));
  table.apply(pinned, 1, {.event = ChunkEvent::backed, .handle = 2});
  EXPECT_TRUE(table.pin(pinned));
  EXPECT_TRUE(table.pin(pinned));
  EXPECT_TRUE(pinned->is_pinned());
  EXPECT_EQ(table.pinned(0).resident, kChunkBytes + kGranularity);
  EXPECT_EQ(table.sums(0).total(), kGranularity);
  EXPECT_TRUE(end(table, pinned));
  EXPECT_EQ(table.pinned(0), Sums{});
  EXPECT_EQ(table.sums(0).total(), kGranularity);
  table.free(other, kReleaseNothing);
  EXPECT_FALSE(table.pin(other)) << "it is ending";
}

TEST(RegionTableTest, RefusesWhatCannotBe) {
  RegionTable table;
  ASSERT_NE(table.insert(facts_at(kTableBase, 4 * kGranularity)), nullptr);
  const RegionFacts refused[] = {
      facts_at(kTableBase, 1),
      facts_at(kTableBase + 3 * kGranularity, 1),
      facts_at(kTableBase - kGranularity, kGranularity + 1),
      facts_at(kTableBase - kGranularity, 8 * kGranularity),
      facts_at(kTableBase / 2, 0),
      facts_at(kTableBase / 2, UINT64_MAX),
      facts_at(kTableBase / 2 + 4096, 1),
      facts_at(0, 1),
      facts_at(UINT64_MAX - kGranularity + 1, kGranularity + 1),
      facts_at(kTableBase / 2, 1, 1, -1),
      facts_at(kTableBase / 2, 1, 1, kDevicesMax),
  };
  for (const RegionFacts& facts : refused) EXPECT_EQ(table.insert(facts), nullptr) << facts.base;
  EXPECT_EQ(table.size(), 1U);
  EXPECT_NE(table.insert(facts_at(kTableBase + 4 * kGranularity, 1)), nullptr);
  EXPECT_NE(table.insert(facts_at(kTableBase - kGranularity, kGranularity)), nullptr);
  EXPECT_NE(table.insert(facts_at(UINT64_MAX - kGranularity + 1, 1, 1, kDevicesMax - 1)), nullptr);
  EXPECT_EQ(table.find(UINT64_MAX)->facts().device, kDevicesMax - 1);
}

TEST(RegionTableTest, FreedInTheMiddleOfMovesItStaysUntilTheyEnd) {
  RegionTable table;
  Region* region = table.insert(facts_at(kTableBase, 5 * kChunkBytes));
  const HostPlace place{1, 2};
  for (std::uint32_t i = 0; i < 4; ++i) table.apply(region, i, {ChunkEvent::backed, 100 + i});
  for (std::uint32_t i = 1; i < 4; ++i) table.apply(region, i, {ChunkEvent::began_out});
  table.apply(region, 1, {ChunkEvent::out_copied, 0, place});
  table.apply(region, 2, {ChunkEvent::out_copied, 0, {1, 34}});
  table.apply(region, 2, {ChunkEvent::began_in});
  // Resident, swapped, coming, leaving, unbacked.
  std::map<std::uint32_t, Outcome> released;
  ASSERT_TRUE(
      table.free(region, [&](std::uint32_t i, const Outcome& what) { released[i] = what; }));
  ASSERT_EQ(released.size(), 2U);
  EXPECT_EQ(released[0].handle, 100U);
  EXPECT_TRUE(released[1].place == place && released[1].handle == 0);
  EXPECT_FALSE(table.free(region, kReleaseNothing));

  EXPECT_EQ(table.find(kTableBase), nullptr);
  EXPECT_EQ(table.insert(facts_at(kTableBase, 1)), nullptr);  // its addresses are still reserved
  EXPECT_FALSE(table.remove(region));
  EXPECT_EQ(table.apply(region, 2, {ChunkEvent::in_done, 200}).handle, 200U);
  EXPECT_TRUE(region->is_ending() && !region->is_over());
  EXPECT_EQ(table.sums(0).total(), kChunkBytes);
  EXPECT_EQ(table.apply(region, 3, {ChunkEvent::out_cancelled}).handle, 103U);
  EXPECT_TRUE(region->is_over());
  EXPECT_TRUE(table.remove(region));
  EXPECT_EQ(table.sums(0).total() + table.sums(0).host + table.bytes_of_books(), 0U);
}

TEST(RegionTableTest, RefusedEventsAndChunksThatAreNotThereChangeNothing) {
  RegionTable table;
  Region* region = table.insert(facts_at(kTableBase, 2 * kChunkBytes));
  const Sums before = table.sums(0);
  EXPECT_FALSE(table.apply(region, 0, {ChunkEvent::began_out}).fits);
  EXPECT_FALSE(table.apply(region, 2, {ChunkEvent::began_in}).fits);
  EXPECT_TRUE(table.sums(0) == before);
  EXPECT_FALSE(table.remove(region));
  EXPECT_EQ(table.find(kTableBase), region);
}

TEST(RegionTableTest, AWindowLeavesNothingClean) {
  RegionTable table;
  Region* region = table.insert(facts_at(kTableBase, 3 * kChunkBytes));
  Region* other = table.insert(facts_at(2 * kTableBase, 1, 1, 1));
  for (std::uint32_t i = 0; i < 3; ++i) table.apply(region, i, {ChunkEvent::backed, 1});
  table.apply(other, 0, {ChunkEvent::backed, 1});
  for (const std::uint32_t i : {0U, 2U}) table.apply(region, i, {ChunkEvent::found_zero});
  table.apply(other, 0, {ChunkEvent::found_zero});
  EXPECT_EQ(table.sums(0).clean, 2 * kChunkBytes);
  table.apply(region, 0, {ChunkEvent::began_out});
  EXPECT_FALSE(table.written(0));
  EXPECT_EQ(table.sums(0).clean, kChunkBytes);
  table.apply(region, 0, {ChunkEvent::out_cancelled});
  EXPECT_TRUE(table.written(0));
  EXPECT_EQ(table.sums(0).clean, 0U);
  EXPECT_FALSE(region->chunk(0).clean || region->chunk(2).clean);
  EXPECT_TRUE(other->chunk(0).clean);
  EXPECT_TRUE(table.written(-1));
}

TEST(RegionTableTest, AContextTakesItsRegionsAlong) {
  RegionTable table;
  for (std::uint64_t i = 0; i < 300; ++i)
    table.insert(facts_at(kTableBase + i * kGranularity, 1, i % 3));
  Region* ending = table.find(kTableBase + kGranularity);
  table.apply(ending, 0, {ChunkEvent::began_in});
  table.free(ending, kReleaseNothing);
  std::uint64_t last = 0;
  int seen = 0;
  table.visit_context(1, [&](Region* region) {
    EXPECT_EQ(region->facts().context, 1U);
    EXPECT_LT(last, region->base());
    last = region->base();
    ++seen;
    EXPECT_TRUE(end(table, region));
  });
  EXPECT_EQ(seen, 99);
  EXPECT_EQ(table.size(), 201U);
}

TEST(RegionTableTest, HoldsAHundredThousand) {
  constexpr std::uint64_t kRegions = 100000;
  RegionTable table;
  for (std::uint64_t i = 0; i < kRegions; ++i) {
    ASSERT_NE(table.insert(facts_at(kTableBase + i * kGranularity, kGranularity)), nullptr);
  }
  Region* large = table.insert(facts_at(2 * kTableBase, std::uint64_t{139} * 1024 * kMiB));
  EXPECT_EQ(large->split().chunks, 2224U);
  for (std::uint64_t i = 0; i < kRegions; ++i) {
    ASSERT_EQ(table.find(kTableBase + i * kGranularity + 5)->base(), kTableBase + i * kGranularity);
  }
  while (Region* region = table.newest(0)) ASSERT_TRUE(end(table, region));
  EXPECT_EQ(table.next(0), nullptr);
  EXPECT_EQ(table.bytes_of_books(), 0U);
}

TEST(RegionTableTest, WithoutMemoryForTheBooksNothingChanges) {
  TestPages::calls_left = 1;
  RegionTable table{&TestPages::map};
  EXPECT_EQ(table.insert(facts_at(kTableBase, 2224 * kChunkBytes)),
            nullptr);  // no room for its chunks
  EXPECT_EQ(table.bytes_of_books(), 0U);
  std::uint64_t i = 0;
  while (table.insert(facts_at(kTableBase + i * kGranularity, 1)) != nullptr) ++i;
  EXPECT_GT(i, 100U);
  EXPECT_EQ(table.size(), i);
  EXPECT_EQ(table.sums(0).total(), i * kGranularity);
  EXPECT_EQ(table.find(kTableBase + i * kGranularity), nullptr);
  EXPECT_TRUE(end(table, table.find(kTableBase)));
  EXPECT_NE(table.insert(facts_at(kTableBase, 1)), nullptr);
}

TEST(RegionTableTest, AChildStartsEmpty) {
  RegionTable table;
  table.insert(facts_at(kTableBase, 3 * kChunkBytes));
  table.forget();
  EXPECT_EQ(table.find(kTableBase), nullptr);
  EXPECT_EQ(table.newest(0), nullptr);
  EXPECT_EQ(table.oldest(0), nullptr);
  EXPECT_EQ(table.sums(0).total() + table.size() + table.bytes_of_books(), 0U);
  EXPECT_NE(table.insert(facts_at(kTableBase, 1)), nullptr);
}

}  // namespace
}  // namespace nvs::interposer::vmm
