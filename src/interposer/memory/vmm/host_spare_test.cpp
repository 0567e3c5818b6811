// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/host_spare.h"

#include <gtest/gtest.h>

namespace nvs::interposer::vmm {
namespace {

TEST(HostNeedsTest, WhatIsThereOrAboutToComeIsNotLacking) {
  EXPECT_EQ(lack_of({.out = 100}), 100U);
  EXPECT_EQ(lack_of({.out = 100, .placed = 10, .free = 20, .expected = 30}), 40U);
  EXPECT_EQ(lack_of({.out = 60, .placed = 10, .free = 20, .expected = 30}), 0U);
  EXPECT_EQ(lack_of({.free = 20, .missing = 5}), 0U) << "nothing has to leave";
}

TEST(HostNeedsTest, WhereNoHoleIsLargeEnoughTheChunkIsLacking) {
  EXPECT_EQ(lack_of({.out = 10, .free = 20, .missing = 5}), 5U);
  EXPECT_EQ(lack_of({.out = 21, .free = 20, .missing = 5}), 5U);
  EXPECT_EQ(lack_of({.out = 30, .free = 20, .missing = 5}), 10U);
  EXPECT_EQ(lack_of({.out = 10, .free = 20, .expected = 1, .missing = 5}), 0U) << "more comes";
}

TEST(HostNeedsTest, WhatMustLeaveNowKeepsItsRoom) {
  EXPECT_EQ(spare_of({.free = 20}), 20U);
  EXPECT_EQ(spare_of({.out = 5, .free = 20}), 15U);
  EXPECT_EQ(spare_of({.out = 30, .free = 20}), 0U);
}

TEST(LongSpareTest, OnlyWhatIsTooMuchForAWhileIsSpare) {
  LongSpare spare(100);
  EXPECT_EQ(spare.bytes(50, 20, 1000), 0U);
  EXPECT_EQ(spare.bytes(50, 20, 1099), 0U);
  EXPECT_EQ(spare.bytes(60, 20, 1100), 40U);
  EXPECT_EQ(spare.bytes(20, 20, 1101), 0U);
  EXPECT_EQ(spare.bytes(50, 20, 1102), 0U) << "it was wanted meanwhile";
  EXPECT_EQ(spare.bytes(50, 20, 1202), 30U);
  spare.forget();
  EXPECT_EQ(spare.bytes(50, 20, 1202), 0U);
}

class DropPlacesTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBase = std::uint64_t{1} << 40U;
  static constexpr std::uint64_t kMapped = std::uint64_t{1} << 41U;

  // A region of three chunks, all of which have left.
  DropPlacesTest() {
    EXPECT_TRUE(room_.add(1, 4 * kChunkBytes, kMapped, 7));
    region_ = regions_.insert({.base = kBase, .bytes = 3 * kChunkBytes, .granularity = 2 * kMiB});
    for (std::uint32_t i = 0; i < 3; ++i) {
      apply(i, {.event = ChunkEvent::backed, .handle = i + 1});
      leave(i);
    }
  }
  Outcome apply(std::uint32_t chunk, const Happening& what) {
    const Outcome outcome = regions_.apply(region_, chunk, what);
    EXPECT_TRUE(outcome.fits);
    return outcome;
  }
  void leave(std::uint32_t chunk) {
    Took took = Took::done;
    const HostPlace place = room_.take(kChunkBytes, took);
    apply(chunk, {.event = ChunkEvent::began_out});
    apply(chunk, {.event = ChunkEvent::out_copied, .place = place, .hash = {1, 2}});
  }
  void come(std::uint32_t chunk) {
    apply(chunk, {.event = ChunkEvent::began_in});
    apply(chunk, {.event = ChunkEvent::in_done, .handle = chunk + 1});
  }

  RegionTable regions_;
  HostRoom room_;
  Region* region_ = nullptr;
};

TEST_F(DropPlacesTest, WhatIsAwayKeepsItsPlace) {
  EXPECT_FALSE(drop_places(regions_, room_, 0));
  EXPECT_EQ(room_.usage().bytes_used, 3 * kChunkBytes);
}

TEST_F(DropPlacesTest, WhatIsOnTheDeviceLosesIt) {
  come(1);
  EXPECT_EQ(placed_of(regions_.sums(0)), kChunkBytes);
  EXPECT_FALSE(drop_places(regions_, room_, 1)) << "another device";
  EXPECT_TRUE(drop_places(regions_, room_, 0));
  EXPECT_EQ(room_.usage().bytes_used, 2 * kChunkBytes);
  EXPECT_FALSE(region_->chunk(1).place.is_some());
  EXPECT_FALSE(region_->chunk(1).clean) << "without a copy it would be taken for zeros";
  EXPECT_EQ(regions_.sums(0).host, 2 * kChunkBytes);
  EXPECT_FALSE(drop_places(regions_, room_, 0)) << "again";
}

TEST_F(DropPlacesTest, WhatMovesKeepsIt) {
  come(0);
  apply(0, {.event = ChunkEvent::began_out});
  apply(1, {.event = ChunkEvent::began_in});
  EXPECT_FALSE(drop_places(regions_, room_, 0));
  EXPECT_TRUE(region_->chunk(0).place.is_some());
  EXPECT_TRUE(region_->chunk(1).place.is_some());
}

TEST_F(DropPlacesTest, WhatWasPinnedLosesIt) {
  for (std::uint32_t i = 0; i < 3; ++i) come(i);
  ASSERT_TRUE(regions_.pin(region_));
  EXPECT_TRUE(drop_places(regions_, room_, 0));
  EXPECT_EQ(room_.usage().bytes_used, 0U);
  ASSERT_NE(room_.next_empty(0), nullptr);
  EXPECT_EQ(room_.next_empty(0)->number, 7U);
  room_.forget_numbers();
  EXPECT_EQ(room_.next_empty(0)->number, 0U);
  EXPECT_TRUE(room_.remove(1));
}

}  // namespace
}  // namespace nvs::interposer::vmm
