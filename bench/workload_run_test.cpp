// SPDX-License-Identifier: Apache-2.0
// Workloads as tenants on the simulator, with nobody in between: what is told of them, and what
// becomes of one that fails.
#include "bench/workload_run.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "bench/failure.h"

namespace nvs::bench {
namespace {

constexpr double kTimeoutSeconds = 60;

const Machine& small_machine() {
  static std::string remark;
  static const Machine machine =
      Machine::open(Backend::kSimulator, {"t4", 2, std::nullopt, 0.5}, remark);
  return machine;
}

WorkloadTenant adding(const char* label, const char* size, const char* iterations) {
  return {label, {"add", "--size", size, "--iterations", iterations}, {}};
}

TEST(WorkloadRuns, TellWhatEachGotDoneWhileAllWereAtWork) {
  const WorkloadRun run = run_workloads(
      small_machine(), {adding("one", "1G", "40"), adding("two", "1G", "80")}, kTimeoutSeconds);
  ASSERT_EQ(run.tenants.size(), 2u);
  EXPECT_EQ(run.tenants[0].iterations, 40);
  EXPECT_EQ(run.tenants[1].iterations, 80);
  EXPECT_GT(run.tenants[0].pid, 0);
  EXPECT_NE(run.tenants[0].pid, run.tenants[1].pid);
  EXPECT_GT(run.to_ns, run.from_ns);
  EXPECT_GT(run.makespan(), 0);
  EXPECT_GE(run.makespan(), run.tenants[1].seconds);
  ASSERT_FALSE(run.tenants[1].points.empty());
  EXPECT_EQ(run.tenants[1].points.back().done, 80);
  EXPECT_LE(run.longest_gap(), run.makespan());
}

TEST(WorkloadRuns, AreAsTheRunnerToldThemInNominalSecondsOnTheirGpus) {
  WorkloadTenant second = adding("second", "1G", "20");
  second.gpu = 1;
  const WorkloadRun run =
      run_workloads(small_machine(), {adding("first", "1G", "40"), second}, kTimeoutSeconds);
  ASSERT_EQ(run.ended.size(), 2u);
  EXPECT_EQ(run.ended[1].spec.label, "second");
  EXPECT_EQ(run.ended[0].spec.gpu, 0);
  EXPECT_EQ(run.ended[1].spec.gpu, 1);
  EXPECT_TRUE(run.ended[1].result.pass);
  EXPECT_EQ(run.ended[0].result.seconds, run.tenants[0].seconds);
  EXPECT_NEAR(run.ended[0].result.rate, 40 / run.tenants[0].seconds, 1e-6);
}

TEST(WorkloadRuns, OneThatFailsIsNamedWithWhatItSaid) {
  try {
    run_workloads(small_machine(), {adding("small", "1G", "1"), adding("huge", "99G", "1")},
                  kTimeoutSeconds);
    FAIL() << "it has no room";
  } catch (const Failure& failure) {
    const std::string text = failure.what();
    EXPECT_NE(text.find("the workload huge failed"), std::string::npos) << text;
    EXPECT_NE(text.find("OUT_OF_MEMORY"), std::string::npos) << text;
    EXPECT_NE(text.find("huge       0  FAIL"), std::string::npos) << text;
  }
}

TEST(WorkloadRuns, TheFailureOfOneThatIsToBeCutIsNoEnd) {
  EXPECT_THROW(
      run_workloads(small_machine(), {adding("huge", "99G", "1")}, kTimeoutSeconds, Ending::kCut),
      Failure);
  // Checking so much takes long enough that it does not come to its end.
  const WorkloadRun run =
      run_workloads(small_machine(), {adding("cut", "12G", "8")}, kTimeoutSeconds, Ending::kCut);
  EXPECT_EQ(run.tenants[0].iterations, 8);
}

}  // namespace
}  // namespace nvs::bench
