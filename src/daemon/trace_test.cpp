// SPDX-License-Identifier: Apache-2.0
#include "daemon/trace.h"

#include <ostream>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::daemon {

// For messages of failed tests.
void PrintTo(const TraceInterval& interval, std::ostream* out) {
  *out << "gpu " << core::index_of(interval.gpu) << " tenant "
       << static_cast<std::uint64_t>(interval.tenant) << " clients " << interval.clients << " kind "
       << static_cast<int>(interval.kind) << " [" << interval.start.ns() << ", "
       << interval.end.ns() << "]";
}

namespace {

using Intervals = std::vector<TraceInterval>;

constexpr core::GpuId kTracedGpu{0};
constexpr core::GpuId kGpu1{1};
constexpr core::TenantId kAnn{10};
constexpr core::TenantId kBob{11};
constexpr core::ClientId kAnn1{1};
constexpr core::ClientId kAnn2{2};
constexpr core::ClientId kBob1{3};

Instant at(std::int64_t ns) { return Instant::from_ns(ns); }

TraceInterval open(core::TenantId tenant, std::int64_t start, std::int64_t end,
                   std::uint32_t clients = 1, core::GpuId gpu = kTracedGpu) {
  return {gpu, tenant, clients, TraceKind::open, at(start), at(end)};
}
TraceInterval drain(core::TenantId tenant, std::int64_t start, std::int64_t end,
                    std::uint32_t clients = 1) {
  return {kTracedGpu, tenant, clients, TraceKind::drain, at(start), at(end)};
}
TraceInterval wait(core::TenantId tenant, std::int64_t start, std::int64_t end,
                   std::uint32_t clients = 1) {
  return {kTracedGpu, tenant, clients, TraceKind::wait, at(start), at(end)};
}

class TraceTest : public ::testing::Test {
 protected:
  TraceTest() {
    event(0, core::ClientJoined{kAnn1, kAnn});
    event(0, core::ClientJoined{kAnn2, kAnn});
    event(0, core::ClientJoined{kBob1, kBob});
  }
  void event(std::int64_t ns, const core::Event& event) { trace_.record(at(ns), event); }
  void effect(std::int64_t ns, const core::Effect& effect) { trace_.record(at(ns), effect); }
  void opened(std::int64_t ns, core::ClientId client, std::uint64_t grant,
              core::GpuId gpu = kTracedGpu) {
    effect(ns, core::OpenWindow{client, gpu, core::GrantId{grant}, {}});
  }
  void closed(std::int64_t ns, core::ClientId client, std::uint64_t grant,
              core::GpuId gpu = kTracedGpu) {
    effect(ns, core::CloseWindow{client, gpu, core::GrantId{grant}});
  }
  void drained(std::int64_t ns, core::ClientId client, std::uint64_t grant,
               core::GpuId gpu = kTracedGpu) {
    event(ns, core::Drained{client, gpu, core::GrantId{grant}});
  }
  Intervals all(std::int64_t now) { return last(now, 1'000'000'000'000); }
  Intervals last(std::int64_t now, std::int64_t ns) {
    const TraceExtract extract = trace_.last(at(now), Duration::from_ns(ns));
    EXPECT_FALSE(extract.is_cut);
    return extract.intervals;
  }

  Trace trace_{8};
};

TEST_F(TraceTest, AWindowIsWaitOpenDrain) {
  event(10, core::Wanted{kAnn1, kTracedGpu});
  opened(15, kAnn1, 1);
  event(20, core::Wanted{kBob1, kTracedGpu});
  closed(30, kAnn1, 1);
  drained(33, kAnn1, 1);
  opened(34, kBob1, 2);
  EXPECT_EQ(all(40), (Intervals{wait(kAnn, 10, 15), open(kAnn, 15, 30), wait(kBob, 20, 34),
                                drain(kAnn, 30, 33), open(kBob, 34, 40)}));
}

TEST_F(TraceTest, ClientsOfATenantAreOneInterval) {
  event(1, core::Wanted{kAnn1, kTracedGpu});
  event(2, core::Wanted{kAnn2, kTracedGpu});
  opened(5, kAnn1, 1);
  opened(5, kAnn2, 2);
  closed(9, kAnn1, 1);
  closed(9, kAnn2, 2);
  drained(11, kAnn2, 2);
  drained(14, kAnn1, 1);
  EXPECT_EQ(all(20), (Intervals{wait(kAnn, 1, 5, 2), open(kAnn, 5, 9, 2), drain(kAnn, 9, 14, 2)}));
}

TEST_F(TraceTest, WhatWasMeantForAnEarlierGrantIsLate) {
  opened(1, kAnn1, 7);
  closed(2, kAnn1, 7);
  drained(3, kAnn1, 6);
  event(3, core::DrainRefused{kAnn1, kTracedGpu, core::GrantId{6}});
  drained(5, kAnn1, 7);
  drained(6, kAnn1, 7);
  EXPECT_EQ(all(9), (Intervals{open(kAnn, 1, 2), drain(kAnn, 2, 5)}));
}

TEST_F(TraceTest, ARefusedDrainIsOpenAgain) {
  opened(1, kAnn1, 1);
  closed(2, kAnn1, 1);
  event(4, core::DrainRefused{kAnn1, kTracedGpu, core::GrantId{1}});
  EXPECT_EQ(all(9), (Intervals{open(kAnn, 1, 2), drain(kAnn, 2, 4), open(kAnn, 4, 9)}));
}

TEST_F(TraceTest, WhoLeavesEndsEverywhere) {
  opened(1, kAnn1, 1);
  opened(1, kAnn1, 2, kGpu1);
  event(2, core::Wanted{kBob1, kTracedGpu});
  event(5, core::ClientLeft{kAnn1});
  event(6, core::ClientLeft{kBob1});
  event(7, core::ClientLeft{core::ClientId{99}});
  EXPECT_EQ(all(9), (Intervals{open(kAnn, 1, 5), open(kAnn, 1, 5, 1, kGpu1), wait(kBob, 2, 6)}));
}

TEST_F(TraceTest, StrangersAreIgnored) {
  event(1, core::Wanted{core::ClientId{99}, kTracedGpu});
  opened(2, core::ClientId{99}, 1);
  closed(3, core::ClientId{99}, 1);
  drained(4, core::ClientId{99}, 1);
  drained(5, kAnn1, 1);
  EXPECT_EQ(all(9), Intervals{});
}

TEST_F(TraceTest, AWindowFoundOpenCounts) {
  event(1, core::FoundOpen{kAnn1, kTracedGpu});
  event(2, core::Wanted{kAnn1, kTracedGpu});
  effect(3, core::ChangeTerms{kAnn1, kTracedGpu, core::GrantId{1}, {}});
  closed(4, kAnn1, 1);
  drained(6, kAnn1, 1);
  EXPECT_EQ(all(9), (Intervals{open(kAnn, 1, 4), drain(kAnn, 4, 6), wait(kAnn, 6, 9)}));
}

TEST_F(TraceTest, OnlyTheLastAreKept) {
  for (std::int64_t i = 0; i < 20; ++i) {
    opened(10 * i, kAnn1, static_cast<std::uint64_t>(i));
    event(10 * i + 5, core::ClientLeft{kAnn1});
    event(10 * i + 5, core::ClientJoined{kAnn1, kAnn});
  }
  const Intervals intervals = all(1000);
  ASSERT_EQ(intervals.size(), 8U);
  for (std::int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(intervals[static_cast<std::size_t>(i)], open(kAnn, 120 + 10 * i, 125 + 10 * i));
}

TEST_F(TraceTest, AnswersReachBackAsFarAsAsked) {
  opened(10, kAnn1, 1);
  closed(20, kAnn1, 1);
  drained(30, kAnn1, 1);
  opened(30, kBob1, 2);
  EXPECT_EQ(last(50, 21), (Intervals{drain(kAnn, 20, 30), open(kBob, 30, 50)}));
  EXPECT_EQ(last(50, 1), (Intervals{open(kBob, 30, 50)}));
}

TEST_F(TraceTest, OfTooManyTheNewestAreGiven) {
  opened(10, kAnn1, 1);
  closed(20, kAnn1, 1);
  drained(30, kAnn1, 1);
  opened(30, kBob1, 2);
  const auto most = [&](Duration span, std::size_t max) { return trace_.last(at(50), span, max); };
  const TraceExtract three = most(Duration::from_s(1), 3);
  EXPECT_EQ(three.intervals.size(), 3U);
  EXPECT_FALSE(three.is_cut);
  const TraceExtract two = most(Duration::from_s(1), 2);
  EXPECT_EQ(two.intervals, (Intervals{drain(kAnn, 20, 30), open(kBob, 30, 50)}));
  EXPECT_TRUE(two.is_cut);
  EXPECT_FALSE(most(Duration::from_ns(21), 2).is_cut) << "what is too old was not asked for";
  const TraceExtract one = most(Duration::from_s(1), 1);
  EXPECT_EQ(one.intervals, (Intervals{open(kBob, 30, 50)}));
  EXPECT_TRUE(one.is_cut);
}

TEST_F(TraceTest, AWindowThatIsGivenUpEnds) {
  opened(1, kAnn1, 1);
  drained(4, kAnn1, 1);
  opened(5, kAnn1, 2);
  drained(6, kAnn1, 1);  // late
  EXPECT_EQ(all(9), (Intervals{open(kAnn, 1, 4), open(kAnn, 5, 9)}));
}

TEST_F(TraceTest, ADrainThatSaysSoIsAWant) {
  opened(1, kAnn1, 1);
  closed(2, kAnn1, 1);
  event(4, core::Drained{kAnn1, kTracedGpu, core::GrantId{1}, true});
  EXPECT_EQ(all(9), (Intervals{open(kAnn, 1, 2), drain(kAnn, 2, 4), wait(kAnn, 4, 9)}));
}

TEST_F(TraceTest, WhoWantsMoreWhenItHasDrainedWaits) {
  opened(1, kAnn1, 1);
  closed(2, kAnn1, 1);
  event(4, core::Wanted{kAnn1, kTracedGpu});
  drained(4, kAnn1, 1);
  opened(7, kAnn1, 2);
  drained(8, kAnn1, 2);
  EXPECT_EQ(all(9),
            (Intervals{open(kAnn, 1, 2), drain(kAnn, 2, 4), wait(kAnn, 4, 7), open(kAnn, 7, 8)}));
}

TEST_F(TraceTest, WhatTookNoTimeIsLeftOut) {
  event(5, core::Wanted{kAnn1, kTracedGpu});
  opened(5, kAnn1, 1);
  closed(6, kAnn1, 1);
  drained(6, kAnn1, 1);
  EXPECT_EQ(all(9), (Intervals{open(kAnn, 5, 6)}));
}

}  // namespace
}  // namespace nvs::daemon
