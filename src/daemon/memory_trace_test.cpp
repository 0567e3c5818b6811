// SPDX-License-Identifier: Apache-2.0
#include "daemon/memory_trace.h"

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

constexpr core::GpuId kGpu{2};
constexpr core::TenantId kTenant{7};
constexpr core::ClientId kFirst{1};
constexpr core::ClientId kSecond{2};
constexpr auto kOut = MemoryMove::Way::out;
constexpr auto kIn = MemoryMove::Way::in;

constexpr Instant at_ms(std::int64_t ms) { return Instant{} + Duration::from_ms(ms); }
MemoryPoint point(std::int64_t ms, const MemoryLevels& levels) {
  return {kGpu, kTenant, at_ms(ms), levels};
}
MemoryPoint point(std::int64_t ms, std::uint64_t resident) {
  return point(ms, MemoryLevels{.resident = resident});
}
MemoryMove move(MemoryMove::Way way, std::int64_t start, std::int64_t end, std::uint64_t bytes) {
  return {kGpu, kTenant, way, at_ms(start), at_ms(end), bytes};
}

class MemoryTraceTest : public ::testing::Test {
 protected:
  MemoryTraceTest() {
    trace_.record(at_ms(0), core::ClientJoined{.client = kFirst, .tenant = kTenant});
    trace_.record(at_ms(0), core::ClientJoined{.client = kSecond, .tenant = kTenant});
  }
  void hold(std::int64_t ms, std::uint64_t resident, std::uint64_t away = 0,
            core::ClientId client = kFirst) {
    hold(ms, HeldMemory{.resident = resident, .away = away}, client);
  }
  void hold(std::int64_t ms, const HeldMemory& held, core::ClientId client = kFirst) {
    trace_.hold(at_ms(ms), client, kGpu, held);
  }
  std::vector<MemoryPoint> points(std::int64_t now, std::int64_t last = 1'000'000) {
    return trace_.last(at_ms(now), Duration::from_ms(last)).points;
  }
  std::vector<MemoryMove> moves(std::int64_t now, std::int64_t last = 1'000'000) {
    return trace_.last(at_ms(now), Duration::from_ms(last)).moves;
  }

  MemoryTrace trace_{5};
};

using Points = std::vector<MemoryPoint>;
using Moves = std::vector<MemoryMove>;

TEST_F(MemoryTraceTest, LevelsAreOfTheWholeTenant) {
  hold(100, 10);
  hold(200, 5, 0, kSecond);
  hold(250, 10);  // no change
  hold(300, 8);
  trace_.record(at_ms(400), core::ClientLeft{kSecond});
  trace_.record(at_ms(500), core::ClientLeft{kFirst});
  EXPECT_EQ(points(600),
            (Points{point(100, 10), point(200, 15), point(300, 13), point(400, 8), point(500, 0)}));
}

TEST_F(MemoryTraceTest, WhereTheMemoryIsMakesALevelEach) {
  hold(100, {.resident = 10, .away = 20, .fixed = 5, .clean = 4, .host = 99});
  hold(200, {.resident = 10, .away = 20, .fixed = 5, .clean = 4, .host = 7});  // no level of ours
  hold(300, {.resident = 1, .away = 2, .fixed = 3, .clean = 1}, kSecond);
  for (const auto& [ms, clean] : {std::pair(400, 8U), {500, 0U}})
    hold(ms, {.resident = 10, .away = 20, .fixed = 5, .clean = clean});
  trace_.record(at_ms(600), core::ClientLeft{kFirst});
  const auto level = [](std::uint64_t resident, std::uint64_t away, std::uint64_t clean,
                        std::uint64_t fixed) {
    return MemoryLevels{.resident = resident, .away = away, .clean = clean, .fixed = fixed};
  };
  EXPECT_EQ(points(700), (Points{point(100, level(10, 20, 4, 5)), point(300, level(11, 22, 5, 8)),
                                 point(400, level(11, 22, 9, 8)), point(500, level(11, 22, 1, 8)),
                                 point(600, level(1, 2, 1, 3))}));
  EXPECT_EQ(points(5000, 1000), (Points{point(4000, level(1, 2, 1, 3))}));
}

TEST_F(MemoryTraceTest, PointsAreApart) {
  hold(100, 10);
  hold(105, 20);
  hold(109, 30);
  hold(110, 40);
  EXPECT_EQ(points(200), (Points{point(100, 30), point(110, 40)})) << "the later value counts";
}

TEST_F(MemoryTraceTest, WhatDoesNotChangeIsShownFromTheBegin) {
  hold(100, 10);
  EXPECT_EQ(points(5000, 1000), (Points{point(4000, 10)}));
  hold(4500, 20);
  EXPECT_EQ(points(5000, 1000), (Points{point(4500, 20)}));
}

TEST_F(MemoryTraceTest, TheNewestAreKept) {
  for (int i = 1; i <= 8; ++i) hold(i * 100, 1000 + static_cast<std::uint64_t>(i));
  EXPECT_EQ(points(900).front(), point(400, 1004));
  EXPECT_EQ(points(900).size(), 5U);
  EXPECT_EQ(trace_.last(at_ms(900), Duration::from_s(9), 2).points,
            (Points{point(700, 1007), point(800, 1008)}));
}

TEST_F(MemoryTraceTest, ChunksThatMoveOneAfterTheOtherAreOneMove) {
  hold(1000, 30);
  hold(2000, 20, 10);
  hold(2050, 10, 20);
  hold(2080, 0, 30);
  EXPECT_EQ(moves(2100), (Moves{move(kOut, 2000, 2080, 30)}));
  hold(2090, 10, 20);
  hold(2150, 30, 0);
  EXPECT_EQ(moves(3000), (Moves{move(kOut, 2000, 2080, 30), move(kIn, 2080, 2150, 30)}));
  EXPECT_EQ(moves(3000, 900), (Moves{move(kIn, 2080, 2150, 30)}));
  hold(5000, 20, 10);
  hold(5100, 10, 20);
  EXPECT_EQ(moves(6000, 1500), (Moves{move(kOut, 5000, 5000, 10), move(kOut, 5100, 5100, 10)}))
      << "after a pause it is another";
  EXPECT_EQ(moves(6000).size(), 4U);
}

TEST_F(MemoryTraceTest, WhatIsAllocatedOrFreedDoesNotMove) {
  hold(1000, 30);
  hold(1010, 50);
  hold(1020, 20, 0);
  hold(1030, 20, 10);
  hold(1040, 10, 0);
  EXPECT_EQ(moves(2000), Moves{});
  hold(1050, 4, 3);   // of 6 bytes that left 3 were freed
  hold(1060, 10, 2);  // and of 6 that came 5 are new
  EXPECT_EQ(moves(2000), (Moves{move(kOut, 1040, 1050, 3), move(kIn, 1050, 1060, 1)}));
}

TEST_F(MemoryTraceTest, AMoveEndsWithItsTenant) {
  hold(1000, 30);
  hold(1050, 20, 10);
  trace_.record(at_ms(1060), core::ClientLeft{kFirst});
  EXPECT_EQ(moves(2000), (Moves{move(kOut, 1000, 1050, 10)}));
}

TEST_F(MemoryTraceTest, WhoIsNotKnownIsIgnored) {
  hold(1000, 30, 0, core::ClientId{99});
  trace_.record(at_ms(1060), core::ClientLeft{core::ClientId{99}});
  EXPECT_EQ(points(2000), Points{});
}

}  // namespace
}  // namespace nvs::daemon
