// SPDX-License-Identifier: Apache-2.0
// The table of regions against a map, over many random operations.
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "interposer/memory/vmm/region_table.h"

namespace nvs::interposer::vmm {
namespace {

constexpr std::uint64_t kRegionModelBase = std::uint64_t{1} << 40U;
constexpr auto kModelReleasesNothing = [](std::uint32_t, const Outcome&) {};

// The sums of a device, counted.
Sums count(const RegionTable& table, int device) {
  Sums sums;
  for (const Region* region = table.next(0); region != nullptr;
       region = table.next(region->base())) {
    if (region->facts().device != device) continue;
    Sums of_region;
    for (std::uint32_t i = 0; i < region->split().chunks; ++i) {
      of_region.add(region->chunk(i), region->split().bytes_of(i));
      sums.add(region->chunk(i), region->split().bytes_of(i));
    }
    EXPECT_TRUE(of_region == region->sums());
  }
  return sums;
}

// Regions of all sizes come and go, and anything happens to their chunks.
TEST(RegionModelTest, AgreesWithAMapInRandomOrder) {
  std::mt19937 random{29};
  RegionTable table;
  std::map<std::uint64_t, Region*> by_base;
  std::vector<Region*> by_age[2];
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t base = kRegionModelBase + (random() % 300) * 4 * kChunkBytes;
    const auto known = by_base.find(base);
    if (known == by_base.end()) {
      const int device = static_cast<int>(random() % 2);
      const std::uint64_t bytes = 1 + random() % (4 * kChunkBytes);
      Region* region = table.insert({base, bytes, 2 * kMiB, 1, device, RegionKind::plain});
      ASSERT_NE(region, nullptr);
      by_base[base] = region;
      by_age[device].push_back(region);
    } else if (random() % 4 == 0) {
      std::vector<Region*>& ages = by_age[known->second->facts().device];
      std::erase(ages, known->second);
      table.free(known->second, kModelReleasesNothing);
      for (std::uint32_t k = 0; k < known->second->split().chunks; ++k) {
        const bool leaves = known->second->chunk(k).state == ChunkState::leaving;
        table.apply(known->second, k,
                    {leaves ? ChunkEvent::out_cancelled : ChunkEvent::in_cancelled});
      }
      ASSERT_TRUE(table.remove(known->second));
      by_base.erase(known);
    } else {
      const auto event = static_cast<ChunkEvent>(random() % (kChunkEvents - 1));
      const auto chunk = static_cast<std::uint32_t>(random() % known->second->split().chunks);
      const Happening what{event, 1 + random(), {1 + random() % 3, 1}, {1 + random() % 3, 1}};
      table.apply(known->second, chunk, what);
    }
    const std::uint64_t address = kRegionModelBase + random() % (1200 * kChunkBytes);
    const auto above = by_base.upper_bound(address);
    Region* expected = above == by_base.begin() ? nullptr : std::prev(above)->second;
    if (expected != nullptr && address - expected->base() >= expected->split().bytes) {
      expected = nullptr;
    }
    ASSERT_EQ(table.find(address), expected);
    ASSERT_EQ(table.next(address), above == by_base.end() ? nullptr : above->second);
    if (i % 500 != 0) continue;
    for (const int device : {0, 1}) {
      ASSERT_TRUE(table.sums(device) == count(table, device));
      std::vector<Region*> upwards;
      for (Region* r = table.oldest(device); r != nullptr; r = r->newer()) upwards.push_back(r);
      ASSERT_EQ(upwards, by_age[device]);
      for (Region* r = table.newest(device); r != nullptr; r = r->older()) {
        ASSERT_EQ(r, upwards.back());
        upwards.pop_back();
      }
      ASSERT_TRUE(upwards.empty());
    }
  }
  ASSERT_EQ(table.size(), by_base.size());
}

}  // namespace
}  // namespace nvs::interposer::vmm
