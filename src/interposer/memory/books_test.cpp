// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/books.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::interposer::memory {
namespace {

constexpr Owner kFirst{OwnerType::context, 0x1000};
constexpr Owner kSecond{OwnerType::context, 0x2000};

Allocation piece(std::uint64_t id, std::uint64_t bytes, Owner owner = kFirst,
                 MemoryKind kind = MemoryKind::plain) {
  return {.kind = kind, .id = id, .bytes = bytes, .owner = owner};
}

OwnerRow row_of(const Books& books, Owner owner) {
  OwnerRow row;
  for (std::size_t i = 0; i < kOwnersMax; ++i) {
    const bool used = books.row(i, row);
    if (used && row.value == owner.value &&
        (row.use == RowUse::device) == (owner.type == OwnerType::device)) {
      return row;
    }
  }
  return OwnerRow{};
}

OwnerRow shared_row(const Books& books) {
  OwnerRow row;
  books.row(kOwnersMax, row);
  return row;
}

// All of a kind on a device, so many at a time.
std::vector<std::uint64_t> listed(const Books& books, MemoryKind kind, int device,
                                  std::size_t at_a_time) {
  std::vector<std::uint64_t> ids;
  std::vector<Record> some(at_a_time);
  std::size_t cursor = 0;
  while (const std::size_t found = books.list(kind, device, cursor, some.data(), at_a_time)) {
    for (std::size_t i = 0; i < found; ++i) ids.push_back(some[i].id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

void expect_counts(const Counts& counts, std::uint64_t bytes_now, std::uint64_t bytes_peak,
                   std::uint64_t count_now, std::uint64_t allocations) {
  EXPECT_EQ(counts.bytes_now, bytes_now);
  EXPECT_EQ(counts.bytes_peak, bytes_peak);
  EXPECT_EQ(counts.count_now, count_now);
  EXPECT_EQ(counts.allocations, allocations);
}

void free_now(Books& books, Space space, std::uint64_t id) { books.take(space, id); }

class BooksTest : public testing::Test {
 protected:
  void SetUp() override {
    books_.context_created(kFirst.value, 0);
    books_.context_created(kSecond.value, 1);
  }

  Books books_;
};

TEST_F(BooksTest, CountsBytesPeakAndNumbersByContextAndKind) {
  EXPECT_TRUE(books_.allocated(piece(0x100, 10)));
  EXPECT_TRUE(books_.allocated(piece(0x200, 7)));
  EXPECT_TRUE(books_.allocated(piece(0x300, 5, kSecond, MemoryKind::managed)));
  free_now(books_, Space::address, 0x100);
  EXPECT_TRUE(books_.allocated(piece(0x100, 1)));

  expect_counts(row_of(books_, kFirst).of(MemoryKind::plain), 8, 17, 2, 3);
  expect_counts(row_of(books_, kFirst).of(MemoryKind::managed), 0, 0, 0, 0);
  expect_counts(row_of(books_, kSecond).of(MemoryKind::managed), 5, 5, 1, 1);
  expect_counts(row_of(books_, kFirst).all, 8, 17, 2, 3);
  expect_counts(books_.totals(), 13, 22, 3, 4);
  EXPECT_FALSE(books_.incomplete());
}

TEST_F(BooksTest, PeakOfAllKindsIsNotTheSumOfTheirPeaks) {
  books_.allocated(piece(0x100, 10));
  free_now(books_, Space::address, 0x100);
  books_.allocated(piece(0x100, 8, kFirst, MemoryKind::async));
  expect_counts(row_of(books_, kFirst).all, 8, 10, 1, 2);
}

TEST_F(BooksTest, RefusedFreeIsAsIfItHadNotBeen) {
  books_.allocated(piece(0x100, 10));
  const Taken taken = books_.take(Space::address, 0x100);
  expect_counts(row_of(books_, kFirst).of(MemoryKind::plain), 0, 10, 0, 1);
  books_.put_back(taken);
  expect_counts(row_of(books_, kFirst).of(MemoryKind::plain), 10, 10, 1, 1);
  free_now(books_, Space::address, 0x100);
  expect_counts(row_of(books_, kFirst).of(MemoryKind::plain), 0, 10, 0, 1);
}

TEST_F(BooksTest, UnknownAddressesChangeNothing) {
  books_.allocated(piece(0x100, 10));
  books_.put_back(books_.take(Space::address, 0x108));
  books_.put_back(books_.take(Space::address, 0));
  books_.put_back(books_.take(Space::array, 0x100));
  books_.retained(0x100);
  expect_counts(books_.totals(), 10, 10, 1, 1);
}

TEST_F(BooksTest, EqualValuesOfDifferentSpacesAreDifferentThings) {
  constexpr Space kSpaces[] = {Space::address, Space::vmm_handle, Space::array,
                               Space::mipmapped_array, Space::external_memory};
  for (const Space space : kSpaces) {
    Allocation one = piece(0x100, 1);
    one.space = space;
    books_.allocated(one);
  }
  expect_counts(books_.totals(), 5, 5, 5, 5);
  free_now(books_, Space::array, 0x100);
  free_now(books_, Space::array, 0x100);
  expect_counts(books_.totals(), 4, 5, 4, 5);
}

// Thread B gets the address that thread A is freeing before A is back from the driver.
TEST_F(BooksTest, AnAddressMayComeBackBeforeItsFreeReturns) {
  books_.allocated(piece(0x100, 10));
  const Taken taken = books_.take(Space::address, 0x100);
  books_.allocated(piece(0x100, 3, kSecond));
  expect_counts(row_of(books_, kSecond).all, 3, 3, 1, 1);
  // The driver did not refuse. Even if it said so afterwards, the new memory stays what it is.
  books_.put_back(taken);
  expect_counts(row_of(books_, kFirst).all, 0, 10, 0, 1);
  expect_counts(row_of(books_, kSecond).all, 3, 3, 1, 1);
  free_now(books_, Space::address, 0x100);
  expect_counts(row_of(books_, kSecond).all, 0, 3, 0, 1);
}

TEST_F(BooksTest, WhatTheDriverGivesAnewHasReplacedWhatWasThere) {
  books_.allocated(piece(0x100, 10));
  books_.allocated(piece(0x100, 4, kFirst, MemoryKind::pitched));
  expect_counts(row_of(books_, kFirst).of(MemoryKind::plain), 0, 10, 0, 1);
  expect_counts(row_of(books_, kFirst).of(MemoryKind::pitched), 4, 4, 1, 1);
}

TEST_F(BooksTest, WhatIsOpenedTwiceIsCountedOnceAndClosedTwice) {
  Allocation opened = piece(0x100, 10, kFirst, MemoryKind::ipc);
  opened.again = Again::adds_reference;
  books_.allocated(opened);
  books_.allocated(opened);
  expect_counts(row_of(books_, kFirst).of(MemoryKind::ipc), 10, 10, 1, 1);
  const Taken refused = books_.take(Space::address, 0x100);
  books_.put_back(refused);
  free_now(books_, Space::address, 0x100);
  expect_counts(row_of(books_, kFirst).of(MemoryKind::ipc), 10, 10, 1, 1);
  free_now(books_, Space::address, 0x100);
  expect_counts(row_of(books_, kFirst).of(MemoryKind::ipc), 0, 10, 0, 1);
}

TEST_F(BooksTest, BorrowedAndHostMemoryIsShownButNotOurs) {
  books_.allocated(piece(0x100, 10, kFirst, MemoryKind::ipc));
  books_.allocated(piece(0x200, 10, kFirst, MemoryKind::external));
  Allocation host = piece(0x300, 10, device_owner(kHostDevice), MemoryKind::vmm);
  host.space = Space::vmm_handle;
  books_.allocated(host, kHostDevice);
  expect_counts(row_of(books_, kFirst).all, 20, 20, 2, 2);
  expect_counts(row_of(books_, device_owner(kHostDevice)).all, 10, 10, 1, 1);
  expect_counts(books_.totals(), 0, 0, 0, 0);
}

TEST_F(BooksTest, NewOwnersAreIntroducedFirst) {
  const Owner third{OwnerType::context, 0x3000};
  EXPECT_FALSE(books_.allocated(piece(0x100, 10, third)));
  expect_counts(books_.totals(), 0, 0, 0, 0);
  books_.allocated(piece(0x100, 10, third), 5);
  const OwnerRow row = row_of(books_, third);
  EXPECT_EQ(row.use, RowUse::context);
  EXPECT_EQ(row.device, 5);
  expect_counts(row.all, 10, 10, 1, 1);
  EXPECT_TRUE(books_.allocated(piece(0x200, 10, third)));
}

TEST_F(BooksTest, ADeviceAndAContextOfTheSameNumberAreTwoOwners) {
  books_.allocated(piece(0x100, 10, {OwnerType::context, 1}), 0);
  books_.allocated(piece(0x200, 20, device_owner(1)), 1);
  expect_counts(row_of(books_, {OwnerType::context, 1}).all, 10, 10, 1, 1);
  expect_counts(row_of(books_, device_owner(1)).all, 20, 20, 1, 1);
}

TEST_F(BooksTest, EndOfAContextTakesItsMemoryAlong) {
  books_.allocated(piece(0x100, 10));
  books_.allocated(piece(0x200, 1, kFirst, MemoryKind::array));
  books_.allocated(piece(0x300, 5, kSecond));
  books_.allocated(piece(0x400, 5, device_owner(0), MemoryKind::vmm), 0);
  OwnerRow last;
  EXPECT_TRUE(books_.ended(kFirst, books_.now(), last));
  EXPECT_EQ(last.device, 0);
  expect_counts(last.all, 11, 11, 2, 2);
  EXPECT_EQ(row_of(books_, kFirst).use, RowUse::free);
  expect_counts(books_.totals(), 10, 21, 2, 4);
  free_now(books_, Space::address, 0x100);
  expect_counts(books_.totals(), 10, 21, 2, 4);
  EXPECT_FALSE(books_.ended(kFirst, books_.now(), last));
}

TEST_F(BooksTest, WhatComesAfterTheEndStays) {
  books_.allocated(piece(0x100, 10));
  const Birth before = books_.now();
  books_.allocated(piece(0x200, 3));  // of a new context with the same handle
  OwnerRow last;
  books_.ended(kFirst, before, last);
  expect_counts(row_of(books_, kFirst).all, 3, 13, 1, 2);
}

TEST_F(BooksTest, RefusedFreeOfAContextThatEndedMeanwhileIsNotPutBack) {
  books_.allocated(piece(0x100, 10));
  const Taken taken = books_.take(Space::address, 0x100);
  OwnerRow last;
  books_.ended(kFirst, books_.now(), last);
  books_.put_back(taken);
  expect_counts(books_.totals(), 0, 10, 0, 1);
}

TEST_F(BooksTest, AHandleGivenToANewContextEndsTheOldOne) {
  books_.allocated(piece(0x100, 10));
  books_.context_created(kFirst.value, 3);
  const OwnerRow row = row_of(books_, kFirst);
  EXPECT_EQ(row.device, 3);
  expect_counts(row.all, 0, 0, 0, 0);
  expect_counts(books_.totals(), 0, 10, 0, 1);
}

TEST_F(BooksTest, APrimaryContextThatComesBackStartsAnew) {
  const Owner primary{OwnerType::context, 0x5000};
  EXPECT_TRUE(books_.primary_retained(primary.value, 2));
  EXPECT_FALSE(books_.primary_retained(primary.value, 2));
  EXPECT_EQ(books_.primary_of(2), primary.value);
  EXPECT_EQ(books_.primary_of(1), 0U);
  EXPECT_EQ(books_.primary_of(-1), 0U);
  EXPECT_EQ(books_.primary_of(kDevicesMax), 0U);
  books_.allocated(piece(0x100, 10, primary));
  EXPECT_EQ(row_of(books_, primary).use, RowUse::primary_context);

  OwnerRow last;
  EXPECT_TRUE(books_.ended(primary, books_.now(), last));
  expect_counts(last.all, 10, 10, 1, 1);
  EXPECT_TRUE(books_.primary_retained(primary.value, 2));
  expect_counts(row_of(books_, primary).all, 0, 0, 0, 0);
  books_.allocated(piece(0x100, 4, primary));
  expect_counts(row_of(books_, primary).all, 4, 4, 1, 1);
  expect_counts(books_.totals(), 4, 10, 1, 2);
}

TEST(BooksLimitTest, ContextsBeyondTheMaximumShareOneRow) {
  Books books;
  constexpr std::uint64_t kMany = kOwnersMax + 3;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    books.allocated(piece(i << 8U, 10, {OwnerType::context, i}), 0);
  }
  EXPECT_EQ(shared_row(books).use, RowUse::others);
  expect_counts(shared_row(books).all, 30, 30, 3, 3);
  // Those without a row need no introduction, and end like others.
  const Owner last_one{OwnerType::context, kMany};
  EXPECT_TRUE(books.allocated(piece(0x10, 1, last_one)));
  expect_counts(shared_row(books).all, 31, 31, 4, 4);
  books.put_back(books.take(Space::address, 0x10));
  expect_counts(shared_row(books).all, 31, 31, 4, 4);
  OwnerRow last;
  EXPECT_FALSE(books.ended(last_one, books.now(), last));
  expect_counts(shared_row(books).all, 20, 31, 2, 4);
}

void* no_pages(std::size_t) { return nullptr; }

void* first_pages_only(std::size_t size) { return size > 4096 ? nullptr : os::map_pages(size); }

TEST(BooksLimitTest, WithoutMemoryTheBooksAreIncompleteAndGoOn) {
  Books books{&no_pages};
  books.context_created(kFirst.value, 0);
  EXPECT_TRUE(books.allocated(piece(0x100, 10)));
  EXPECT_TRUE(books.incomplete());
  free_now(books, Space::address, 0x100);
  expect_counts(books.totals(), 0, 0, 0, 0);
}

TEST(BooksLimitTest, ATableThatCannotGrowIsFilledUpAndStaysRight) {
  Books books{&first_pages_only};
  books.context_created(kFirst.value, 0);
  std::uint64_t kept = 0;
  while (!books.incomplete()) {
    ++kept;
    books.allocated(piece(kept << 9U, 1));
  }
  --kept;
  EXPECT_EQ(kept, 63U);
  expect_counts(books.totals(), kept, kept, kept, kept);
  for (std::uint64_t i = 1; i <= kept; ++i) free_now(books, Space::address, i << 9U);
  expect_counts(books.totals(), 0, kept, 0, kept);
  EXPECT_TRUE(books.incomplete());
}

TEST(BooksForkTest, TheChildStartsEmpty) {
  Books books;
  books.primary_retained(kFirst.value, 0);
  books.allocated(piece(0x100, 10));
  books.after_fork();
  EXPECT_EQ(row_of(books, kFirst).use, RowUse::free);
  EXPECT_EQ(books.primary_of(0), 0U);
  expect_counts(books.totals(), 0, 0, 0, 0);
  free_now(books, Space::address, 0x100);
  expect_counts(books.totals(), 0, 0, 0, 0);
  EXPECT_FALSE(books.allocated(piece(0x100, 10)));
}

TEST(BooksThreadsTest, ManyThreadsBalance) {
  Books books;
  books.context_created(kFirst.value, 0);
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kRounds = 2000;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 1; t <= kThreads; ++t) {
    threads.emplace_back([&books, t] {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        const std::uint64_t id = (t << 32U) + (i << 9U);
        books.allocated(piece(id, 2));
        const Taken taken = books.take(Space::address, id);
        if (i % 2 == 0) books.put_back(taken);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Counts counts = row_of(books, kFirst).of(MemoryKind::plain);
  EXPECT_EQ(counts.bytes_now, kThreads * kRounds);
  EXPECT_EQ(counts.count_now, kThreads * kRounds / 2);
  EXPECT_EQ(counts.allocations, kThreads * kRounds);
}

TEST_F(BooksTest, TheRecordsOfAKindOnADeviceAreListed) {
  std::vector<std::uint64_t> on_first;
  for (std::uint64_t id = 1; id <= 100; ++id) {
    const bool is_first = id % 3 != 0;
    const MemoryKind kind = id % 5 != 0 ? MemoryKind::unified : MemoryKind::plain;
    books_.allocated(piece(id << 20U, 7, is_first ? kFirst : kSecond, kind), is_first ? 0 : 1);
    if (is_first && kind == MemoryKind::unified) on_first.push_back(id << 20U);
  }
  for (const std::size_t at_a_time : {1U, 7U, 500U}) {
    EXPECT_EQ(listed(books_, MemoryKind::unified, 0, at_a_time), on_first);
  }
  EXPECT_TRUE(listed(books_, MemoryKind::managed, 0, 7).empty());
  Record record;
  int device = -1;
  EXPECT_TRUE(books_.find_record(Space::address, 3U << 20U, record, device));
  EXPECT_EQ(record.bytes, 7U);
  EXPECT_EQ(device, 1);
  EXPECT_FALSE(books_.find_record(Space::array, 3U << 20U, record, device));
}

TEST_F(BooksTest, WhatAContextHasOfAnotherDeviceIsListedThere) {
  Allocation node = piece(5, 0, kFirst, MemoryKind::graph);
  node.reserved.device = 1;
  books_.allocated(node, 0);
  EXPECT_EQ(listed(books_, MemoryKind::graph, 1, 7), std::vector<std::uint64_t>{5});
  EXPECT_TRUE(listed(books_, MemoryKind::graph, 0, 7).empty());
}

}  // namespace
}  // namespace nvs::interposer::memory
