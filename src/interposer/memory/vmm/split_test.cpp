// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/split.h"

#include <gtest/gtest.h>

namespace nvs::interposer::vmm {
namespace {

constexpr std::uint64_t kSplitGranularity = 2 * kMiB;

constexpr Split split_of(std::uint64_t bytes, std::uint64_t granularity = kSplitGranularity) {
  Split split;
  return split_region(bytes, granularity, split) ? split : Split{};
}

static_assert(split_of(1).chunks == 1);
static_assert(split_of(std::uint64_t{139} * 1024 * kMiB).chunks == 2224);

TEST(SplitTest, CutsAtChunksAndRoundsTheLastOneUp) {
  struct Case {
    std::uint64_t bytes, rounded;
    std::uint32_t chunks;
    std::uint64_t last;
  };
  constexpr Case kCases[] = {
      {1, 2 * kMiB, 1, 2 * kMiB},
      {2 * kMiB, 2 * kMiB, 1, 2 * kMiB},
      {2 * kMiB + 1, 4 * kMiB, 1, 4 * kMiB},
      {kChunkBytes - 1, kChunkBytes, 1, kChunkBytes},
      {kChunkBytes, kChunkBytes, 1, kChunkBytes},
      {kChunkBytes + 1, kChunkBytes + 2 * kMiB, 2, 2 * kMiB},
      {3 * kChunkBytes, 3 * kChunkBytes, 3, kChunkBytes},
      {kChunksMax * kChunkBytes, kChunksMax * kChunkBytes, kChunksMax, kChunkBytes},
  };
  for (const Case& expected : kCases) {
    const Split split = split_of(expected.bytes);
    EXPECT_EQ(split.bytes, expected.rounded) << expected.bytes;
    EXPECT_EQ(split.chunks, expected.chunks) << expected.bytes;
    EXPECT_EQ(split.bytes_of(split.chunks - 1), expected.last) << expected.bytes;
    if (split.chunks > 1) {
      EXPECT_EQ(split.bytes_of(0), kChunkBytes);
    }
    EXPECT_EQ(split.bytes_of(split.chunks), 0U);
  }
}

TEST(SplitTest, EveryByteIsInTheChunkThatCoversIt) {
  const Split split = split_of(2 * kChunkBytes + 5 * kMiB);
  for (std::uint32_t i = 0; i < split.chunks; ++i) {
    EXPECT_EQ(split.chunk_at(split.offset_of(i)), i);
    EXPECT_EQ(split.chunk_at(split.offset_of(i) + split.bytes_of(i) - 1), i);
  }
  EXPECT_EQ(split.chunk_at(split.bytes), split.chunks);
}

TEST(SplitTest, RefusesWhatNoRegionCanHave) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, kChunksMax * kChunkBytes + 1, UINT64_MAX}) {
    EXPECT_EQ(split_of(bytes).chunks, 0U) << bytes;
  }
  for (const std::uint64_t granularity : {std::uint64_t{0}, 3 * kMiB, 2 * kChunkBytes}) {
    EXPECT_EQ(split_of(kMiB, granularity).chunks, 0U) << granularity;
  }
  EXPECT_EQ(split_of(kMiB, 1).bytes, kMiB);
}

}  // namespace
}  // namespace nvs::interposer::vmm
