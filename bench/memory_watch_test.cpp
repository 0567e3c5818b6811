// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_watch.h"

#include <gtest/gtest.h>

#include "bench/workload_run.h"

namespace nvs::bench {
namespace {

constexpr std::int64_t kMicrosecond = 1000;

nlohmann::json interval(int tenant, const char* kind, int start_us, int end_us) {
  return {
      {"gpu", 0}, {"tenant", tenant}, {"kind", kind}, {"start_us", start_us}, {"end_us", end_us}};
}

nlohmann::json trace_of(const std::vector<nlohmann::json>& intervals) {
  nlohmann::json tenants = nlohmann::json::array();
  for (const int id : {1, 2}) tenants.push_back({{"id", id}, {"name", "pair"}});
  tenants.push_back({{"id", 3}, {"name", "other"}});
  return {{"tenants", tenants}, {"intervals", intervals}};
}

TEST(Exchanges, AreBetweenTheWindowsOfTwoTenants) {
  const nlohmann::json trace = trace_of({
      interval(1, "open", 0, 10),
      interval(1, "drain", 10, 12),
      interval(2, "wait", 0, 40),
      interval(1, "open", 15, 20),  // its next window is no exchange
      interval(3, "open", 22, 38),  // neither is one of somebody else's
      interval(2, "open", 40, 50),
      interval(1, "open", 70, 80),
  });
  const std::vector<Span> found = exchanges_in(trace, "pair", 0, 1000 * kMicrosecond);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].from_ns, 20 * kMicrosecond);
  EXPECT_EQ(found[0].to_ns, 40 * kMicrosecond);
  EXPECT_EQ(found[1].from_ns, 50 * kMicrosecond);
  EXPECT_EQ(found[1].to_ns, 70 * kMicrosecond);
}

TEST(Exchanges, CountOnlyIfTheyAreInThatTimeAsAWhole) {
  const nlohmann::json trace = trace_of(
      {interval(1, "open", 0, 10), interval(2, "open", 20, 30), interval(1, "open", 40, 50)});
  const auto count = [&](int from_us, int to_us) {
    return exchanges_in(trace, "pair", from_us * kMicrosecond, to_us * kMicrosecond).size();
  };
  EXPECT_EQ(count(10, 40), 2u);
  EXPECT_EQ(count(11, 40), 1u);
  EXPECT_EQ(count(10, 39), 1u);
  EXPECT_EQ(count(11, 39), 0u);
}

TEST(Exchanges, MoveWhatIsAwayBeforeAndAfter) {
  const std::vector<Holding> holdings = {
      {10, 1, 12, 0, 0}, {10, 2, 4, 8, 0},  {20, 1, 8, 4, 0},  {20, 2, 8, 4, 0},
      {30, 1, 5, 7, 0},  {30, 2, 12, 0, 0}, {40, 1, 12, 0, 0},
  };
  EXPECT_EQ(bytes_exchanged(holdings, {15, 25}), 8 + 7);
}

TEST(Moved, IsCountedByTenantAndDirection) {
  EXPECT_FALSE(moved_in({}));
  const std::optional<Moved> moved = moved_in({
      {10, 1, 12, 0, 0},
      {10, 2, 0, 12, 0},
      {20, 1, 8, 4, 0},
      {20, 2, 4, 8, 0},
      {30, 1, 9, 3, 0},
      {40, 2, 0, 12, 0},
  });
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->out, 4 + 4);
  EXPECT_EQ(moved->in, 4 + 1);
}

TEST(Holdings, AreThoseOfTheFirstGpuAndOfDaemonsThatTell) {
  nlohmann::json use = {{"gpu", 0}, {"state", "running"}};
  const auto status = [&] {
    const nlohmann::json tenant = {{"clients", {{{"id", 7}, {"pid", 70}}}}, {"gpus", {use}}};
    return nlohmann::json{{"tenants", {tenant}}};
  };
  EXPECT_TRUE(holdings_in(status(), 5).empty());
  use.update({{"resident_bytes", 3}, {"swapped_bytes", 2}, {"copied_out_bytes", 1}});
  const std::vector<Holding> found = holdings_in(status(), 5);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pid, 70);
  EXPECT_EQ(found[0].away, 2);
  EXPECT_EQ(found[0].copied, 1);
  use["gpu"] = 1;
  EXPECT_TRUE(holdings_in(status(), 5).empty());
}

TEST(Leaves, AreCountedOnceEachWithWhatWasCopied) {
  const std::vector<Holding> holdings = {
      {1, 1, 12, 0, 0},
      {2, 9, 12, 0, 0},
      // All of it is copied, in two pieces; another tenant comes in between.
      {3, 1, 8, 4, 4},
      {4, 9, 0, 12, 12},
      {5, 1, 4, 8, 8},
      // It comes back, and only the last 1 of what leaves then is copied.
      {6, 1, 8, 4, 8},
      {7, 1, 12, 0, 8},
      {8, 1, 6, 6, 8},
      {9, 1, 4, 8, 9},
      {10, 1, 12, 0, 9},
      {11, 1, 8, 4, 9},
  };
  const std::vector<Leave> leaves = leaves_of(holdings, 1);
  ASSERT_EQ(leaves.size(), 3u);
  EXPECT_EQ(leaves[0].bytes, 8);
  EXPECT_EQ(leaves[0].copied, 8);
  EXPECT_EQ(leaves[1].bytes, 8);
  EXPECT_EQ(leaves[1].copied, 1);
  EXPECT_EQ(leaves[2].bytes, 4);
  EXPECT_EQ(leaves[2].copied, 0);
}

TEST(WorkloadPoints, TellGapsAndRates) {
  WorkloadResult result;
  EXPECT_EQ(result.longest_gap(), 0);
  EXPECT_EQ(result.rate_from(0), 0);
  result.points = {{1, 10}, {2, 20}, {7, 30}, {8, 50}, {9, 70}};
  EXPECT_EQ(result.longest_gap(), 5);
  EXPECT_EQ(result.rate_from(6.5), 20);
  EXPECT_EQ(result.rate_from(9), 0) << "one point is no rate";
}

TEST(WorkloadPoints, TheTimeUntilTheFirstIsAGapToo) {
  WorkloadResult result;
  result.points = {{6, 10}, {7, 20}};
  EXPECT_EQ(result.longest_gap(), 6);
}

}  // namespace
}  // namespace nvs::bench
