// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/plan.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::interposer::vmm {
namespace {

constexpr std::uint64_t kChunk = kChunkBytes;
constexpr std::uint32_t kMovesMax = 1000;

// Regions of device 0, the oldest first: a letter a chunk. r: resident, c: and clean, s: swapped,
// z: zero, u: unbacked, l: leaving, i: coming. The last chunk of a region may be smaller.
class Regions {
 public:
  void add(const std::string& chunks, std::uint64_t last_bytes = kChunk, int device = 0) {
    const std::uint64_t bytes = (chunks.size() - 1) * kChunk + last_bytes;
    // Newer regions are below older ones, so that the order of addresses does not help.
    base_ -= chunks.size() * kChunk;
    Region* region = table_.insert({base_, bytes, 2 * kMiB, 1, device, RegionKind::plain});
    ASSERT_NE(region, nullptr);
    for (std::uint32_t i = 0; i < chunks.size(); ++i) bring(region, i, chunks[i]);
    regions_.push_back(region);
  }

  std::string out(std::uint64_t bytes, std::uint32_t moves_max = kMovesMax) {
    return text_of(plan_out(table_, 0, bytes, moves_, moves_max));
  }
  std::string in(std::uint64_t bytes, std::uint32_t moves_max = kMovesMax) {
    return text_of(plan_in(table_, 0, bytes, moves_, moves_max));
  }
  bool pin(std::size_t region) { return table_.pin(regions_[region]); }
  const RegionTable& table() const { return table_; }
  const std::vector<Region*>& regions() const { return regions_; }

 private:
  void bring(Region* region, std::uint32_t chunk, char letter) {
    const auto happen = [&](const Happening& what) {
      EXPECT_TRUE(table_.apply(region, chunk, what).fits) << letter;
    };
    if (letter == 'u') return;
    if (letter == 'i') return happen({ChunkEvent::began_in});
    happen({ChunkEvent::backed, 1});
    if (letter == 'r') return;
    if (letter == 'c') return happen({ChunkEvent::found_zero});
    happen({ChunkEvent::began_out});
    if (letter == 's') happen({ChunkEvent::out_copied, 0, {1, 1}});
    if (letter == 'z') happen({ChunkEvent::out_zero});
  }

  // The moves as region and chunk, like "b0 a2".
  std::string text_of(const Plan& plan) const {
    std::string text;
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < plan.moves; ++i) {
      const Move& move = moves_[i];
      const auto found = std::find(regions_.begin(), regions_.end(), move.region);
      const auto letter = static_cast<char>('a' + (found - regions_.begin()));
      text += (text.empty() ? "" : " ") + std::string{letter} + std::to_string(move.chunk);
      EXPECT_EQ(move.bytes, move.region->split().bytes_of(move.chunk));
      bytes += move.bytes;
    }
    EXPECT_EQ(bytes, plan.bytes);
    return text;
  }

  RegionTable table_;
  std::vector<Region*> regions_;
  std::uint64_t base_ = std::uint64_t{1} << 40U;
  Move moves_[kMovesMax];
};

TEST(PlanTest, PinnedRegionsStay) {
  Regions regions;
  regions.add("rr");
  regions.add("rc");
  ASSERT_TRUE(regions.pin(1));
  EXPECT_EQ(regions.out(3 * kChunk), "a1 a0");
  EXPECT_EQ(need_of(regions.table().sums(0), 0, kChunk).out, kChunk);
}

TEST(PlanTest, OutGoNewestFirstAndTheirLastChunkFirst) {
  Regions regions;
  regions.add("rrr");
  regions.add("rr");
  EXPECT_EQ(regions.out(UINT64_MAX), "b1 b0 a2 a1 a0");
  EXPECT_EQ(regions.out(3 * kChunk), "b1 b0 a2");
  EXPECT_EQ(regions.out(2 * kChunk + 1), "b1 b0 a2");
  EXPECT_EQ(regions.out(1), "b1");
  EXPECT_EQ(regions.out(0), "");
}

TEST(PlanTest, OutOfARegionGoThoseThatCostNothingFirst) {
  Regions regions;
  regions.add("crr");
  regions.add("rcrcr");
  EXPECT_EQ(regions.out(UINT64_MAX), "b3 b1 b4 b2 b0 a0 a2 a1");
}

TEST(PlanTest, OnlyWhatIsResidentGoesOut) {
  Regions regions;
  regions.add("uizslrc");
  EXPECT_EQ(regions.out(UINT64_MAX), "a6 a5");
}

TEST(PlanTest, InComeThoseThatWouldGoLastFirst) {
  Regions regions;
  regions.add("zss");
  regions.add("szsus");
  EXPECT_EQ(regions.in(UINT64_MAX), "a1 a2 a0 b0 b2 b4 b1 b3");
  EXPECT_EQ(regions.in(3 * kChunk), "a1 a2 a0");
  EXPECT_EQ(regions.in(3 * kChunk - 1), "a1 a2");
  EXPECT_EQ(regions.in(kChunk - 1), "");
}

TEST(PlanTest, OnlyWhatIsAwayComesIn) {
  Regions regions;
  regions.add("rcliszu");
  EXPECT_EQ(regions.in(UINT64_MAX), "a4 a5 a6");
}

TEST(PlanTest, InTakesWhatFits) {
  Regions regions;
  regions.add("ss", 6 * kMiB);
  regions.add("s", 2 * kMiB);
  EXPECT_EQ(regions.in(kChunk - 1), "a1 b0");
  EXPECT_EQ(regions.in(kChunk + 2 * kMiB), "a0 b0");
  EXPECT_EQ(regions.in(4 * kMiB), "b0");
}

TEST(PlanTest, OutTakesNoneThatCouldStay) {
  Regions regions;
  regions.add("r");
  regions.add("c", 4 * kMiB);
  regions.add("r", 2 * kMiB);
  EXPECT_EQ(regions.out(6 * kMiB), "c0 b0");
  EXPECT_EQ(regions.out(kChunk + 6 * kMiB), "c0 b0 a0");
  EXPECT_EQ(regions.out(kChunk + 4 * kMiB), "b0 a0");
  EXPECT_EQ(regions.out(kChunk + 2 * kMiB), "b0 a0");  // the one that would cost a copy stays
  EXPECT_EQ(regions.out(kChunk), "a0");
}

TEST(PlanTest, StopsWhereTheMovesEnd) {
  Regions regions;
  regions.add("rrrsss");
  EXPECT_EQ(regions.out(UINT64_MAX, 2), "a2 a1");
  EXPECT_EQ(regions.in(UINT64_MAX, 2), "a3 a4");
  EXPECT_EQ(regions.out(UINT64_MAX, 0), "");
}

TEST(PlanTest, OtherDevicesAreLeftAlone) {
  Regions regions;
  regions.add("rs", kChunk, 1);
  EXPECT_EQ(regions.out(UINT64_MAX), "");
  EXPECT_EQ(regions.in(UINT64_MAX), "");
}

TEST(PlanTest, NeedCountsWhatIsOnTheMove) {
  Regions regions;
  regions.add("rrlis");
  const Sums sums = regions.table().sums(0);
  const auto need = [&](std::uint64_t unevictable, std::uint64_t allowed) {
    const Need found = need_of(sums, unevictable, allowed);
    return std::pair{found.out / kChunk, found.in / kChunk};
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(need(0, 2 * kChunk), Pair(1, 0));
  EXPECT_EQ(need(0, 3 * kChunk), Pair(0, 0));
  EXPECT_EQ(need(0, 4 * kChunk), Pair(0, 0));  // what leaves is still there
  EXPECT_EQ(need(0, 5 * kChunk), Pair(0, 1));
  EXPECT_EQ(need(0, UINT64_MAX), Pair(0, 1));
  EXPECT_EQ(need(kChunk, 3 * kChunk), Pair(1, 0));
  EXPECT_EQ(need(9 * kChunk, 5 * kChunk), Pair(3, 0));
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, space - at));
    at = space + 1;
  }
  return words;
}

TEST(PlanTest, InIsTheMirrorImageOfOut) {
  std::mt19937 random{31};
  for (int round = 0; round < 200; ++round) {
    Regions here;
    Regions away;
    for (int i = 0; i < 5; ++i) {
      std::string costs;
      for (std::size_t k = 0; k < 1 + random() % 6; ++k) costs += random() % 2 == 0 ? 'r' : 'c';
      const std::uint64_t last = (1 + random() % 32) * 2 * kMiB;
      here.add(costs, last);
      std::replace(costs.begin(), costs.end(), 'r', 's');
      std::replace(costs.begin(), costs.end(), 'c', 'z');
      away.add(costs, last);
    }
    std::vector<std::string> out = words_of(here.out(UINT64_MAX));
    std::reverse(out.begin(), out.end());
    // Among those of one cost the order is turned round, and so is that of the costs.
    ASSERT_EQ(words_of(away.in(UINT64_MAX)), out);
  }
}

TEST(PlanTest, NeverMoreThanTheDeficitNorLess) {
  std::mt19937 random{37};
  static Move moves[kMovesMax];
  for (int round = 0; round < 2000; ++round) {
    Regions regions;
    for (int i = 0; i < 6; ++i) {
      std::string chunks;
      for (std::size_t k = 0; k < 1 + random() % 4; ++k) chunks += "rcszul"[random() % 6];
      regions.add(chunks, (1 + random() % 32) * 2 * kMiB);
    }
    const Sums sums = regions.table().sums(0);
    const std::uint64_t wanted = random() % (12 * kChunk);
    const Plan out = plan_out(regions.table(), 0, wanted, moves, kMovesMax);
    ASSERT_GE(out.bytes, std::min(wanted, sums.resident));
    for (std::uint32_t i = 0; i < out.moves; ++i) {
      ASSERT_LT(out.bytes - moves[i].bytes, wanted);
    }
    const Plan in = plan_in(regions.table(), 0, wanted, moves, kMovesMax);
    ASSERT_LE(in.bytes, wanted);
    ASSERT_TRUE(in.bytes == sums.away() || wanted - in.bytes < kChunk);
  }
}

}  // namespace
}  // namespace nvs::interposer::vmm
