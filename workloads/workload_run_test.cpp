// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload_run.h"

#include <gtest/gtest.h>

namespace nvs::workloads {
namespace {

constexpr int kT4 = 40;
constexpr int kH200 = 132;

TEST(Limits, DefaultToTheUsualIterationsOfTheGpu) {
  const WorkloadKind& add = *find_workload("add");
  EXPECT_EQ(limits_for(add, {.length = 1}, kT4, 1).iterations, add.small_gpu.iterations);
  EXPECT_EQ(limits_for(add, {.length = 1}, kH200, 1).iterations, add.large_gpu.iterations);
  EXPECT_EQ(limits_for(add, {.length = 2}, kT4, 1).iterations, 2 * add.small_gpu.iterations);
  EXPECT_EQ(limits_for(add, {.length = 1e-9}, kT4, 1).iterations, 1u);
}

TEST(Limits, TakeWhatIsAskedFor) {
  const WorkloadKind& add = *find_workload("add");
  EXPECT_EQ(limits_for(add, {.iterations = 7, .length = 3}, kT4, 1).iterations, 7u);
  const RunLimits timed = limits_for(add, {.seconds = 2.5}, kT4, 1);
  EXPECT_EQ(timed.iterations, 0u);
  EXPECT_DOUBLE_EQ(timed.seconds, 2.5);
}

TEST(Limits, LetIdleWorkloadsSleepInProportion) {
  const WorkloadKind& idle = *find_workload("add-idle");
  const double usual = idle.small_gpu.sleep_seconds;
  EXPECT_DOUBLE_EQ(limits_for(idle, {.bytes = idle.bytes}, kT4, 1).sleep_seconds, usual);
  EXPECT_DOUBLE_EQ(limits_for(idle, {.bytes = idle.bytes / 2}, kT4, 1).sleep_seconds, usual / 2);
  EXPECT_DOUBLE_EQ(limits_for(idle, {.bytes = idle.bytes}, kT4, 3).sleep_seconds, usual * 3);
}

TEST(ProgressOf, FollowsWhatEndsTheRunFirst) {
  EXPECT_DOUBLE_EQ(progress_of({.iterations = 10}, 4, 2).fraction, 0.4);
  EXPECT_DOUBLE_EQ(progress_of({.seconds = 8}, 4, 2).fraction, 0.25);
  EXPECT_DOUBLE_EQ(progress_of({.iterations = 100, .seconds = 8}, 4, 2).fraction, 0.25);
  EXPECT_DOUBLE_EQ(progress_of({.iterations = 10}, 4, 2).rate, 2);
}

TEST(Workloads, AreFoundByName) {
  for (const WorkloadKind& kind : all_workloads()) EXPECT_EQ(find_workload(kind.name), &kind);
  EXPECT_EQ(find_workload("subtract"), nullptr);
}

TEST(FloatsIn, RoundsDownToUnitsButNeverToNothing) {
  EXPECT_EQ(floats_in(1000, 100), 200u);
  EXPECT_EQ(floats_in(10, 100), 100u);
}

}  // namespace
}  // namespace nvs::workloads
