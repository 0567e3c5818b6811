// SPDX-License-Identifier: Apache-2.0
#include "daemon/memory_books.h"

#include <gtest/gtest.h>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

using Shown = MemoryBooks::Shown;
using AllShown = std::vector<Shown>;

class MemoryBooksTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
  static constexpr core::GpuId kGpu{0};
  static constexpr core::ClientId kFirst{1};
  static constexpr core::ClientId kSecond{2};

  MemoryBooksTest() { books_.add_gpu(20 * kGiB, 18 * kGiB); }

  // Until it is believed.
  std::optional<std::uint64_t> measure(std::uint64_t free_bytes) {
    std::optional<std::uint64_t> changed;
    for (int i = 0; i <= kStillPollsForMore; ++i) {
      if (const auto now = books_.measure(kGpu, free_bytes)) changed = now;
    }
    return changed;
  }
  // Each is a tenant of its own.
  void use(core::ClientId client, core::GpuId gpu) {
    books_.use(client, core::TenantId(static_cast<std::uint64_t>(client)), gpu);
  }
  static HeldMemory has(std::uint64_t resident, std::uint64_t asked = 0) {
    return {.resident = resident, .asked = asked};
  }

  MemoryBooks books_{10 * kGiB};
};

TEST_F(MemoryBooksTest, WhoComesIsShownTheSizeOnce) {
  use(kFirst, kGpu);
  EXPECT_EQ(books_.take_shown(), (AllShown{{kFirst, kGpu, 15 * kGiB, 15 * kGiB}}));
  use(kFirst, kGpu);
  EXPECT_EQ(books_.take_shown(), AllShown{});
}

TEST_F(MemoryBooksTest, OfASizeThatIsNotKnownNothingIsSaid) {
  books_.add_gpu(0, 0);
  use(kFirst, core::GpuId{1});
  books_.hold(kFirst, core::GpuId{1}, has(500 * kGiB, 500 * kGiB));
  EXPECT_EQ(books_.take_shown(), AllShown{});
  EXPECT_FALSE(books_.measure(core::GpuId{1}, kGiB));
  EXPECT_EQ(books_.capacity(core::GpuId{1}).bytes(), 0U);
}

TEST_F(MemoryBooksTest, OnceTheSizeIsKnownAllThatUseItAreToldAndHeldToIt) {
  constexpr core::GpuId kLate{1};
  books_.add_gpu(0, 0);
  use(kFirst, kLate);
  books_.hold(kFirst, kLate, has(500 * kGiB));
  use(kSecond, kLate);
  books_.set_size(kLate, 20 * kGiB, 18 * kGiB);
  EXPECT_EQ(books_.capacity(kLate).bytes(), 18 * kGiB);
  EXPECT_EQ(books_.held(kFirst, kLate)->resident, 20 * kGiB) << "no more than there is";
  const AllShown shown = books_.take_shown();
  ASSERT_GE(shown.size(), 2U);
  for (const MemoryBooks::Shown& told : shown) {
    EXPECT_EQ(told.gpu, kLate);
    EXPECT_EQ(told.total, 15 * kGiB);
  }
  for (int i = 0; i < kStillPollsForMore; ++i) books_.measure(kLate, 0);
  EXPECT_EQ(books_.capacity(kLate).bytes(), 18 * kGiB) << "it is measured";
}

TEST_F(MemoryBooksTest, WhatNobodyClaimsLeavesTheCapacity) {
  use(kFirst, kGpu);
  books_.hold(kFirst, kGpu, {.resident = 3 * kGiB, .away = 2 * kGiB, .fixed = kGiB});
  EXPECT_EQ(measure(15 * kGiB), 17 * kGiB) << "5 are used, 4 by the client";
  EXPECT_EQ(books_.capacity(kGpu).other(), kGiB);
  books_.leave(kFirst);
  EXPECT_EQ(measure(20 * kGiB), 18 * kGiB);
}

TEST_F(MemoryBooksTest, UnifiedMemoryIsInNobodysWay) {
  use(kFirst, kGpu);
  books_.hold(kFirst, kGpu, {.away = 5 * kGiB, .managed = 30 * kGiB, .loose = 30 * kGiB});
  EXPECT_FALSE(measure(1 * kGiB)) << "what is left of it on the GPU leaves when it must";
  EXPECT_EQ(books_.capacity(kGpu).bytes(), 18 * kGiB);
  books_.hold(kFirst, kGpu, {.resident = 2 * kGiB, .managed = 3 * kGiB, .loose = kGiB});
  EXPECT_EQ(measure(15 * kGiB), 16 * kGiB) << "5 are used, 3 by the client";
}

TEST_F(MemoryBooksTest, WhatAGraphHasYetToTakeIsKeptForIt) {
  use(kFirst, kGpu);
  books_.hold(kFirst, kGpu, {.resident = kGiB});
  EXPECT_EQ(measure(17 * kGiB), 16 * kGiB) << "3 are used, 1 by the client";
  books_.hold(kFirst, kGpu, {.resident = kGiB, .fixed = 4 * kGiB, .early = 4 * kGiB});
  EXPECT_FALSE(measure(17 * kGiB));
  EXPECT_FALSE(measure(13 * kGiB)) << "it has";
  books_.hold(kFirst, kGpu, {.resident = kGiB, .fixed = 4 * kGiB});
  EXPECT_FALSE(measure(13 * kGiB));
  EXPECT_EQ(books_.capacity(kGpu).bytes(), 16 * kGiB);
}

TEST_F(MemoryBooksTest, NothingIsMeasuredWhileMemoryMoves) {
  books_.hold(kFirst, kGpu, {.resident = 4 * kGiB});
  books_.measure(kGpu, 14 * kGiB);
  books_.hold(kFirst, kGpu, {.resident = 3 * kGiB, .away = kGiB});
  for (int i = 0; i < kStillPollsForMore; ++i) EXPECT_FALSE(books_.measure(kGpu, 14 * kGiB));
  books_.hold(kFirst, kGpu, {.resident = 3 * kGiB, .away = kGiB, .clean = kGiB});  // nothing moved
  EXPECT_EQ(books_.measure(kGpu, 14 * kGiB), 15 * kGiB);
}

TEST_F(MemoryBooksTest, ASizeThatWasShownStays) {
  use(kFirst, kGpu);
  books_.take_shown();
  books_.hold(kFirst, kGpu, has(kGiB));
  measure(19 * kGiB - (std::uint64_t{100} << 20U));  // a context takes 100 MiB
  EXPECT_EQ(books_.take_shown(), AllShown{});
  use(kSecond, kGpu);
  const std::uint64_t total = 18 * kGiB - (std::uint64_t{600} << 20U);
  EXPECT_EQ(books_.take_shown(), (AllShown{{kSecond, kGpu, total, total}}));
}

TEST_F(MemoryBooksTest, WhatOthersHoldForGoodIsNotWaitedFor) {
  use(kFirst, kGpu);
  use(kSecond, kGpu);
  books_.take_shown();
  books_.hold(kSecond, kGpu, {.resident = 8 * kGiB, .fixed = 5 * kGiB});
  EXPECT_EQ(books_.take_shown(), (AllShown{{kFirst, kGpu, 15 * kGiB, 13 * kGiB}}))
      << "what can be moved makes room, and its own is its own";
  books_.hold(kSecond, kGpu, {.resident = 8 * kGiB});
  EXPECT_EQ(books_.take_shown(), (AllShown{{kFirst, kGpu, 15 * kGiB, 15 * kGiB}}));
}

TEST_F(MemoryBooksTest, WhatCouldNeverBeServedIsRefusedUntilItCould) {
  use(kFirst, kGpu);
  use(kSecond, kGpu);
  books_.take_shown();
  books_.hold(kFirst, kGpu, has(14 * kGiB));
  books_.hold(kSecond, kGpu, {.away = 12 * kGiB, .asked = 2 * kGiB});
  EXPECT_EQ(books_.take_shown(), AllShown{}) << "28 fit into 18 and 10";
  books_.hold(kSecond, kGpu, {.away = 12 * kGiB, .asked = 3 * kGiB});
  EXPECT_EQ(books_.take_shown(), (AllShown{{kSecond, kGpu, 15 * kGiB, 14 * kGiB}}));
  books_.hold(kSecond, kGpu, {.away = 12 * kGiB});
  EXPECT_EQ(books_.take_shown(), (AllShown{{kSecond, kGpu, 15 * kGiB, 15 * kGiB}}));
}

TEST_F(MemoryBooksTest, WhoWaitsForALittleIsToldThatItWillNotCome) {
  constexpr std::uint64_t kLittle = kLimitStep / 2;
  use(kFirst, kGpu);
  use(kSecond, kGpu);
  books_.hold(kFirst, kGpu, has(13 * kGiB + kLittle));
  books_.take_shown();
  const std::uint64_t away = 15 * kGiB - kLittle;
  books_.hold(kSecond, kGpu, {.away = away, .asked = kLittle});
  EXPECT_EQ(books_.take_shown().back(), (Shown{kSecond, kGpu, 15 * kGiB, away}));
}

TEST_F(MemoryBooksTest, HostMemoryIsNotAllOfUse) {
  books_ = MemoryBooks(10 * kGiB, kGiB);
  books_.add_gpu(20 * kGiB, 18 * kGiB);
  use(kFirst, kGpu);
  use(kSecond, kGpu);
  books_.hold(kFirst, kGpu, has(14 * kGiB));
  books_.hold(kSecond, kGpu, {.away = 10 * kGiB, .asked = kGiB});
  books_.take_shown();
  books_.hold(kSecond, kGpu, {.away = 10 * kGiB, .asked = 2 * kGiB});
  EXPECT_EQ(books_.take_shown(), (AllShown{{kSecond, kGpu, 15 * kGiB, 11 * kGiB}}))
      << "a segment for each of both, and one that they exchange";
}

TEST_F(MemoryBooksTest, WhoComesIntoACrowdIsToldItsLimit) {
  use(kFirst, kGpu);
  books_.hold(kFirst, kGpu, {.resident = 15 * kGiB, .asked = 40 * kGiB});
  books_.take_shown();
  use(kSecond, kGpu);
  EXPECT_EQ(books_.take_shown(), (AllShown{{kSecond, kGpu, 15 * kGiB, 13 * kGiB}}));
  books_.leave(kFirst);
  EXPECT_EQ(books_.take_shown(), (AllShown{{kSecond, kGpu, 15 * kGiB, 15 * kGiB}}));
}

TEST_F(MemoryBooksTest, WhoComesIsToldAtOnceWhatForeignProgramsLeave) {
  EXPECT_EQ(measure(8 * kGiB), 6 * kGiB) << "12 are used, by nobody that is known";
  use(kFirst, kGpu);
  EXPECT_EQ(books_.take_shown(), (AllShown{{kFirst, kGpu, 15 * kGiB, 6 * kGiB}}));
  measure(20 * kGiB);
  EXPECT_EQ(books_.take_shown(), (AllShown{{kFirst, kGpu, 15 * kGiB, 15 * kGiB}}));
}

TEST_F(MemoryBooksTest, NobodyIsBelievedToHaveMoreThanTheGpu) {
  use(kFirst, kGpu);
  use(kSecond, kGpu);
  books_.take_shown();
  const std::uint64_t lie = 1000 * kGiB;
  books_.hold(kFirst, kGpu,
              {.resident = lie, .away = lie, .fixed = lie, .asked = lie, .clean = lie});
  EXPECT_EQ(books_.held(kFirst, kGpu)->allocated(), 20 * kGiB);
  EXPECT_EQ(books_.take_shown(), (AllShown{{kSecond, kGpu, 15 * kGiB, 8 * kGiB}}));
}

TEST_F(MemoryBooksTest, NothingIsToldToWhoHasLeft) {
  use(kFirst, kGpu);
  books_.leave(kFirst);
  EXPECT_EQ(books_.take_shown(), AllShown{});
  EXPECT_FALSE(books_.held(kFirst, kGpu));
}

TEST_F(MemoryBooksTest, ProcessesOfOneTenantShareWhatOneCouldHave) {
  constexpr core::TenantId kTenant{7};
  for (const core::ClientId client : {kFirst, kSecond}) books_.use(client, kTenant, kGpu);
  use(core::ClientId{3}, kGpu);
  books_.take_shown();
  books_.hold(kFirst, kGpu, has(12 * kGiB));
  EXPECT_EQ(books_.take_shown(), (AllShown{{kSecond, kGpu, 15 * kGiB, 6 * kGiB}}))
      << "they run together, and another tenant by turns";
  books_.hold(kSecond, kGpu, has(0, 8 * kGiB));
  EXPECT_EQ(books_.take_shown(), AllShown{}) << "it knows that it would wait for ever";
  books_.leave(kFirst);
  EXPECT_EQ(books_.take_shown(), (AllShown{{kSecond, kGpu, 15 * kGiB, 15 * kGiB}}));
}

}  // namespace
}  // namespace nvs::daemon
