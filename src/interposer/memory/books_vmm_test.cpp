// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "interposer/memory/books.h"

namespace nvs::interposer::memory {
namespace {

constexpr std::uint64_t kUnit = std::uint64_t{2} << 20U;
constexpr std::uint64_t kBase = std::uint64_t{0x7f} << 32U;
constexpr std::uint64_t kHandle = 0x55;
constexpr std::uint64_t kOther = 0x66;

class BooksVmmTest : public testing::Test {
 protected:
  void create(std::uint64_t handle, std::uint64_t bytes) {
    Allocation made{.space = Space::vmm_handle, .kind = MemoryKind::vmm};
    made.id = handle;
    made.bytes = bytes;
    made.owner = device_owner(0);
    books_.allocated(made, 0);
  }
  void import(std::uint64_t handle) {
    Allocation made{.space = Space::vmm_handle, .kind = MemoryKind::ipc};
    made.again = Again::adds_reference;
    made.id = handle;
    made.owner = device_owner(0);
    books_.allocated(made, 0);
  }
  void release(std::uint64_t handle) { books_.take(Space::vmm_handle, handle); }
  void map(std::uint64_t unit, std::uint64_t units, std::uint64_t handle) {
    books_.mapped(kBase + unit * kUnit, units * kUnit, handle);
  }
  void unmap(std::uint64_t unit, std::uint64_t units) {
    books_.unmapped(kBase + unit * kUnit, units * kUnit, books_.now());
  }
  Counts counts(MemoryKind kind = MemoryKind::vmm) {
    OwnerRow row;
    books_.row(0, row);
    return row.of(kind);
  }
  std::uint64_t units() { return counts().bytes_now / kUnit; }

  Books books_;
};

TEST_F(BooksVmmTest, BelongsToTheDevice) {
  create(kHandle, kUnit);
  OwnerRow row;
  ASSERT_TRUE(books_.row(0, row));
  EXPECT_EQ(row.use, RowUse::device);
  EXPECT_EQ(row.device, 0);
  EXPECT_EQ(units(), 1U);
  EXPECT_EQ(books_.totals().bytes_now, kUnit);
}

TEST_F(BooksVmmTest, LivesUntilItsLastReference) {
  create(kHandle, kUnit);
  books_.retained(kHandle);
  release(kHandle);
  EXPECT_EQ(units(), 1U);
  release(kHandle);
  EXPECT_EQ(units(), 0U);
}

TEST_F(BooksVmmTest, LivesUntilItsLastMapping) {
  create(kHandle, kUnit);
  map(0, 1, kHandle);
  map(8, 1, kHandle);
  release(kHandle);
  release(kHandle);  // once too often, which the driver refuses
  unmap(0, 1);
  EXPECT_EQ(units(), 1U);
  unmap(8, 1);
  EXPECT_EQ(units(), 0U);
}

TEST_F(BooksVmmTest, ReleasedButMappedCanBeMappedAndRetainedAgain) {
  create(kHandle, kUnit);
  map(0, 1, kHandle);
  release(kHandle);
  map(4, 1, kHandle);
  unmap(0, 1);
  EXPECT_EQ(units(), 1U);
  books_.retained(kHandle);
  unmap(4, 1);
  EXPECT_EQ(units(), 1U);
  release(kHandle);
  EXPECT_EQ(units(), 0U);
}

TEST_F(BooksVmmTest, UnmapsWholeRangesWithHoles) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    create(kHandle + i, 2 * kUnit);
    map(4 * i, 2, kHandle + i);
    release(kHandle + i);
  }
  EXPECT_EQ(units(), 8U);
  unmap(3, 7);  // from hole to hole over the second and the third
  EXPECT_EQ(units(), 4U);
  EXPECT_EQ(counts().count_now, 2U);
  unmap(0, 1U << 20U);  // a range far larger than the table of mappings
  EXPECT_EQ(units(), 0U);
}

TEST_F(BooksVmmTest, UnmapLeavesWhatIsCutOrOutside) {
  create(kHandle, 2 * kUnit);
  map(2, 2, kHandle);
  release(kHandle);
  unmap(0, 3);
  unmap(3, 5);
  unmap(4, 1U << 20U);
  EXPECT_EQ(units(), 2U);
  unmap(2, 2);
  EXPECT_EQ(units(), 0U);
}

TEST_F(BooksVmmTest, RefusedReleaseIsAsIfItHadNotBeen) {
  create(kHandle, kUnit);
  books_.put_back(books_.take(Space::vmm_handle, kHandle));
  EXPECT_EQ(units(), 1U);
  map(0, 1, kHandle);
  books_.put_back(books_.take(Space::vmm_handle, kHandle));
  unmap(0, 1);
  EXPECT_EQ(units(), 1U);
  release(kHandle);
  EXPECT_EQ(units(), 0U);
  EXPECT_EQ(counts().allocations, 1U);
}

// While one thread is back from cuMemUnmap but not yet in the books, another maps the same place.
TEST_F(BooksVmmTest, AMappingMadeDuringAnUnmapStays) {
  create(kHandle, kUnit);
  create(kOther, kUnit);
  map(0, 1, kHandle);
  release(kHandle);
  const Birth before = books_.now();
  map(0, 1, kOther);
  EXPECT_EQ(units(), 1U);  // the first handle's only mapping was replaced
  release(kOther);
  books_.unmapped(kBase, kUnit, before);
  EXPECT_EQ(units(), 1U);
  unmap(0, 1);
  EXPECT_EQ(units(), 0U);
}

// The same, with the value of the dead handle given to new memory meanwhile.
TEST_F(BooksVmmTest, AHandleMadeDuringAnUnmapStays) {
  create(kHandle, kUnit);
  map(0, 1, kHandle);
  release(kHandle);
  const Birth before = books_.now();
  create(kHandle, 3 * kUnit);
  map(8, 3, kHandle);
  books_.unmapped(kBase, kUnit, before);
  EXPECT_EQ(units(), 3U);
  release(kHandle);
  EXPECT_EQ(units(), 3U);
  unmap(8, 3);
  EXPECT_EQ(units(), 0U);
}

TEST_F(BooksVmmTest, ImportedHandlesTellTheirSizeWhenMapped) {
  import(kHandle);
  import(kHandle);
  EXPECT_EQ(counts(MemoryKind::ipc).bytes_now, 0U);
  EXPECT_EQ(counts(MemoryKind::ipc).count_now, 1U);
  map(0, 3, kHandle);
  map(8, 3, kHandle);
  EXPECT_EQ(counts(MemoryKind::ipc).bytes_now, 3 * kUnit);
  EXPECT_EQ(counts(MemoryKind::ipc).bytes_peak, 3 * kUnit);
  EXPECT_EQ(books_.totals().bytes_now, 0U);
  release(kHandle);
  unmap(0, 16);
  EXPECT_EQ(counts(MemoryKind::ipc).bytes_now, 3 * kUnit);
  release(kHandle);
  EXPECT_EQ(counts(MemoryKind::ipc).bytes_now, 0U);
}

TEST_F(BooksVmmTest, MappingsOfUnknownHandlesAreNobodys) {
  map(0, 1, kHandle);
  unmap(0, 1);
  EXPECT_EQ(books_.totals().allocations, 0U);
}

TEST_F(BooksVmmTest, ContextsThatEndTakeNoneAlong) {
  books_.context_created(0x1000, 0);
  create(kHandle, kUnit);
  OwnerRow last;
  books_.ended({OwnerType::context, 0x1000}, books_.now(), last);
  EXPECT_EQ(books_.totals().bytes_now, kUnit);
}

TEST_F(BooksVmmTest, ThousandsOfChunksBalance) {
  constexpr std::uint64_t kChunks = 20000;
  for (std::uint64_t i = 0; i < kChunks; ++i) {
    create(0x1000 + i, kUnit);
    map(i, 1, 0x1000 + i);
    release(0x1000 + i);
  }
  OwnerRow row;
  books_.row(0, row);
  EXPECT_EQ(row.all.bytes_now, kChunks * kUnit);
  for (std::uint64_t i = 0; i < kChunks; i += 2) unmap(i, 1);
  books_.row(0, row);
  EXPECT_EQ(row.all.count_now, kChunks / 2);
  unmap(0, kChunks);
  books_.row(0, row);
  EXPECT_EQ(row.all.bytes_now, 0U);
  EXPECT_EQ(row.all.count_now, 0U);
}

}  // namespace
}  // namespace nvs::interposer::memory
