// SPDX-License-Identifier: Apache-2.0
#include "bench/stats.h"

#include <gtest/gtest.h>

#include "bench/failure.h"

namespace nvs::bench {
namespace {

TEST(Stats, MedianIgnoresOrderAndOutliers) {
  EXPECT_DOUBLE_EQ(median({3, 1000, 1}), 3);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median({7}), 7);
}

TEST(Stats, SummaryHasTheExtremes) {
  const Summary summary = summarize({5, 1, 9});
  EXPECT_DOUBLE_EQ(summary.low, 1);
  EXPECT_DOUBLE_EQ(summary.median, 5);
  EXPECT_DOUBLE_EQ(summary.high, 9);
}

TEST(Stats, NothingMeasuredIsAFailure) {
  EXPECT_THROW(summarize({}), Failure);
  EXPECT_THROW(percentile({}, 0.5), Failure);
}

TEST(Stats, PercentileIsTheNearestRank) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_DOUBLE_EQ(percentile(values, 0.5), 50);
  EXPECT_DOUBLE_EQ(percentile(values, 0.99), 99);
  EXPECT_DOUBLE_EQ(percentile(values, 1), 100);
  EXPECT_DOUBLE_EQ(percentile(values, 0), 1);
  EXPECT_DOUBLE_EQ(percentile({8}, 0.99), 8);
}

TEST(CompletionWindow, CountsOnlyWhatCompletesInside) {
  CompletionWindow window(1000, 2000);
  for (const int at : {900, 1000, 1500, 2000, 2100}) window.completed(at);
  EXPECT_EQ(window.count(), 3u);
}

TEST(CompletionWindow, WorkCutByAnEdgeDoesNotChangeTheRate) {
  // One completion every 300 ns, wherever the window lies: 3.33 million a second.
  for (int shift = 0; shift < 300; shift += 50) {
    CompletionWindow window(10'000, 20'000);
    for (int at = shift; at < 30'000; at += 300) window.completed(at);
    EXPECT_NEAR(window.rate(), 1e9 / 300, 1);
  }
}

TEST(CompletionWindow, OneCompletionHasNoRate) {
  CompletionWindow window(0, 1000);
  EXPECT_DOUBLE_EQ(window.rate(), 0);
  window.completed(500);
  EXPECT_DOUBLE_EQ(window.rate(), 0);
}

}  // namespace
}  // namespace nvs::bench
