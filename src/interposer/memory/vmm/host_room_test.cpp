// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/host_room.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "interposer/memory/vmm/test_pages.h"

namespace nvs::interposer::vmm {
namespace {

constexpr std::uint64_t kSegment = 1024 * kMiB;
constexpr std::uint64_t kMapped = (std::uint64_t{1} << 40U) + 4096;  // pages are not aligned

constinit HostRoom room_at_start;

HostPlace take(HostRoom& room, std::uint64_t bytes) {
  Took took = Took::done;
  return room.take(bytes, took);
}

TEST(HostRoomTest, EmptyHasNothing) {
  EXPECT_FALSE(take(room_at_start, kHostStep).is_some());
  EXPECT_FALSE(room_at_start.give({1, 0}));
  EXPECT_EQ(room_at_start.next_empty(0), nullptr);
  EXPECT_EQ(room_at_start.bytes_of_books(), 0U);
}

TEST(HostRoomTest, PlacesAreWhereTheSegmentIsMapped) {
  HostRoom room;
  ASSERT_TRUE(room.add(9, kSegment, kMapped));
  const HostPlace first = take(room, kChunkBytes);
  const HostPlace second = take(room, 6 * kMiB);
  const HostPlace third = take(room, kChunkBytes);
  ASSERT_TRUE(room.add(10, kSegment, 2 * kMapped));
  while (take(room, kHostStep).segment != 10) continue;
  EXPECT_EQ(room.address_of(first), kMapped);
  EXPECT_EQ(room.address_of(second), kMapped + kChunkBytes);
  EXPECT_EQ(room.address_of(third), kMapped + kChunkBytes + 6 * kMiB);
  EXPECT_EQ(room.address_of({9, 1}), 0U);    // in the middle of one
  EXPECT_EQ(room.address_of({9, 512}), 0U);  // on the next segment
  EXPECT_EQ(room.address_of({8, 0}), 0U);    // no such segment
  EXPECT_EQ(room.usage().bytes_used, kSegment + kHostStep);
}

TEST(HostRoomTest, RefusesWhatCannotBe) {
  HostRoom room;
  EXPECT_FALSE(room.add(0, kSegment, kMapped));
  EXPECT_FALSE(room.add(1, 0, kMapped));
  EXPECT_FALSE(room.add(1, kSegment + 4096, kMapped));
  EXPECT_FALSE(room.add(1, kSegment, 0));
  EXPECT_FALSE(room.add(1, kSegment, UINT64_MAX - kMiB));
  EXPECT_FALSE(room.add(1, (std::uint64_t{1} << 32U) * kHostStep, kMapped));
  EXPECT_TRUE(room.add(1, kSegment, kMapped));
  EXPECT_FALSE(room.add(1, kSegment, 2 * kMapped));
  for (const std::uint64_t bytes : {std::uint64_t{0}, kChunkBytes + 1, UINT64_MAX}) {
    Took took = Took::done;
    EXPECT_FALSE(room.take(bytes, took).is_some()) << bytes;
    EXPECT_EQ(took, Took::bad_size);
  }
  EXPECT_FALSE(room.remove(2));
  EXPECT_EQ(room.usage().bytes_reserved, kSegment);
}

TEST(HostRoomTest, FillsHolesBeforeBreakingUpOthers) {
  HostRoom room;
  ASSERT_TRUE(room.add(1, kSegment, kMapped));
  const HostPlace hole = take(room, 6 * kMiB);
  take(room, kChunkBytes);
  ASSERT_TRUE(room.give(hole));
  EXPECT_EQ(take(room, 4 * kMiB), hole);
  EXPECT_EQ(take(room, 2 * kMiB), (HostPlace{1, 2}));
  EXPECT_EQ(take(room, 2 * kMiB), (HostPlace{1, 35}));
}

TEST(HostRoomTest, NewerSegmentsFallEmptyAndGoBack) {
  HostRoom room;
  // Neither the ids nor the addresses say which is older.
  ASSERT_TRUE(room.add(7, 2 * kChunkBytes, 2 * kMapped));
  ASSERT_TRUE(room.add(3, 2 * kChunkBytes, kMapped));
  HostPlace places[4];
  for (HostPlace& place : places) place = take(room, kChunkBytes);
  EXPECT_FALSE(take(room, kHostStep).is_some());
  EXPECT_EQ(places[1].segment, 7U);
  EXPECT_EQ(places[2].segment, 3U);
  EXPECT_EQ(room.next_empty(0), nullptr);
  ASSERT_TRUE(room.give(places[3]));
  EXPECT_FALSE(room.give(places[3]));
  EXPECT_FALSE(room.remove(3));
  ASSERT_TRUE(room.give(places[1]));
  EXPECT_EQ(take(room, kChunkBytes), places[1]);
  ASSERT_TRUE(room.give(places[2]));
  EXPECT_EQ(room.next_empty(0)->id, 3U);
  EXPECT_EQ(room.next_empty(3), nullptr);
  EXPECT_TRUE(room.remove(3));
  EXPECT_EQ(room.find(3), nullptr);
  EXPECT_FALSE(room.give(places[2]));
  EXPECT_TRUE(room.add(3, kSegment, kMapped));  // the daemon may lend it again
}

TEST(HostRoomTest, AgreesWithAMapInRandomOrder) {
  std::mt19937 random{23};
  HostRoom room;
  std::map<std::uint64_t, std::pair<HostPlace, std::uint64_t>> taken;  // by address
  std::uint64_t segments = 0;
  std::uint64_t bytes_used = 0;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 100 < (i / 2000 % 2 == 0 ? 60U : 40U)) {
      const std::uint64_t steps = random() % 2 == 0 ? 32 : 1 + random() % 32;
      HostPlace place = take(room, steps * kHostStep);
      if (!place.is_some()) {
        ++segments;
        ASSERT_TRUE(room.add(segments, kSegment, kMapped + segments * kSegment));
        place = take(room, steps * kHostStep);
      }
      const std::uint64_t address = room.address_of(place);
      const auto next = taken.lower_bound(address);
      ASSERT_TRUE(next == taken.end() || address + steps * kHostStep <= next->first);
      ASSERT_TRUE(next == taken.begin() ||
                  std::prev(next)->first + std::prev(next)->second.second <= address);
      ASSERT_EQ((address - kMapped) / kSegment, place.segment);
      ASSERT_EQ((address + steps * kHostStep - 1 - kMapped) / kSegment, place.segment);
      taken[address] = {place, steps * kHostStep};
      bytes_used += steps * kHostStep;
    } else if (!taken.empty()) {
      auto victim = taken.begin();
      std::advance(victim, random() % taken.size());
      ASSERT_TRUE(room.give(victim->second.first));
      bytes_used -= victim->second.second;
      taken.erase(victim);
    }
    ASSERT_EQ(room.usage().bytes_used, bytes_used);
    ASSERT_EQ(room.usage().pieces, taken.size());
  }
  for (const auto& [address, place] : taken) ASSERT_TRUE(room.give(place.first));
  std::uint64_t removed = 0;
  while (const HostSegment* segment = room.next_empty(0)) {
    ASSERT_TRUE(room.remove(segment->id));
    ++removed;
  }
  EXPECT_EQ(removed, segments);
  EXPECT_EQ(room.bytes_of_books(), 0U);
}

TEST(HostRoomTest, WithoutMemoryForTheBooksNothingChanges) {
  for (int pages = 0; pages < 4; ++pages) {
    TestPages::calls_left = pages;
    HostRoom room{&TestPages::map};
    std::uint64_t id = 0;
    std::size_t before = 0;
    do {
      before = room.bytes_of_books();
      ++id;
    } while (room.add(id, kSegment, kMapped));
    EXPECT_EQ(room.bytes_of_books(), before);
    EXPECT_EQ(room.find(id), nullptr);
    EXPECT_EQ(room.usage().bytes_reserved, (id - 1) * kSegment);
    TestPages::calls_left = 2;
    EXPECT_TRUE(room.add(id, kSegment, kMapped));
  }
}

TEST(HostRoomTest, AChildStartsEmpty) {
  HostRoom room;
  ASSERT_TRUE(room.add(1, kSegment, kMapped));
  take(room, kHostStep);
  room.forget();
  EXPECT_EQ(room.find(1), nullptr);
  EXPECT_FALSE(take(room, kHostStep).is_some());
  EXPECT_EQ(room.bytes_of_books(), 0U);
  EXPECT_TRUE(room.add(1, kSegment, kMapped));
}

}  // namespace
}  // namespace nvs::interposer::vmm
