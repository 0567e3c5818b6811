// SPDX-License-Identifier: Apache-2.0
#include "workloads/crowd.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace nvs::workloads {
namespace {

Tenant done(const char* label, const ResultStatus& result, bool timed_out = false) {
  return {.spec = {.label = label, .gpu = 0, .arguments = {}, .environment = {}},
          .phase = Phase::kEnded,
          .result = result,
          .timed_out = timed_out};
}

bool has(const TenantSpec& tenant, const char* argument) {
  return std::count(tenant.arguments.begin(), tenant.arguments.end(), argument) > 0;
}

CrowdResult result_of(const char* name, double rate, bool good = true) {
  return {name,
          {{.label = "a", .iterations = rate, .seconds = 1, .verdict = "PASS", .good = good}}};
}

TEST(Crowd, FourOfTwelveOnTwoGpusThenOnOneThenWithoutNvshare) {
  const std::vector<Crowd> crowds = plan_crowds(1);
  ASSERT_EQ(crowds.size(), 3U);
  for (const Crowd& crowd : crowds) {
    ASSERT_EQ(crowd.scene.tenants.size(), 4U);
    const bool managed = crowd.way == CrowdWay::kUnifiedMemory;
    for (const TenantSpec& tenant : crowd.scene.tenants) {
      EXPECT_LT(tenant.gpu, crowd.gpus);
      EXPECT_TRUE(has(tenant, "12G"));
      EXPECT_EQ(has(tenant, "--managed"), managed);
    }
    EXPECT_EQ(crowd.stop_after_seconds > 0, managed);
  }
  EXPECT_EQ(crowds[0].gpus, 2);
  EXPECT_EQ(crowds[1].gpus, 1);
}

TEST(Crowd, OnlyUnifiedMemoryMayBeStopped) {
  const std::vector<Crowd> crowds = plan_crowds(1);
  const std::vector<Tenant> tenants = {
      done("right", {.pass = true, .iterations = 30, .seconds = 2}),
      done("late", {.pass = false, .iterations = 3, .seconds = 6}, true),
      done("nothing", {.pass = false}, true)};
  const CrowdResult shared = crowd_result(crowds[1], tenants, 8);
  EXPECT_FALSE(shared.good());
  const double factor = crowds[2].time_factor;
  const CrowdResult unified = crowd_result(crowds[2], tenants, 8);
  EXPECT_TRUE(unified.good());
  EXPECT_DOUBLE_EQ(unified.tasks[0].seconds, 2 / factor);
  EXPECT_DOUBLE_EQ(unified.tasks[2].seconds, 8 / factor) << "all that it had";
  EXPECT_DOUBLE_EQ(unified.rate(), 33 / (8 / factor));
  const std::vector<Tenant> wrong = {done("wrong", {.pass = false, .message = "data"})};
  EXPECT_FALSE(crowd_result(crowds[2], wrong, 8).good());
}

TEST(Crowd, BarsAreAsLongAsRates) {
  const std::vector<CrowdResult> results = {
      {"many", {{"a", 0, 20, 1, "PASS", true}, {"b", 1, 10, 1, "PASS", true}}},
      {"few", {{"c", 0, 0, 40, "stopped", true}}}};
  EXPECT_EQ(render_crowds(results),
            "Iterations a second of each task, by the GPU's clock:\n"
            "many\n"
            "  a  GPU 0  [##############################]  20.00  0.05 s an iteration, PASS\n"
            "  b  GPU 1  [###############...............]  10.00  0.10 s an iteration, PASS\n"
            "few\n"
            "  c  GPU 0  [..............................]   0.00  none in 40 s, stopped\n");
}

TEST(Crowd, TheVerdictIsAboutDataAndWork) {
  EXPECT_TRUE(judge_crowds(result_of("n", 20), result_of("u", 0.5)).good);
  EXPECT_EQ(judge_crowds(result_of("n", 20), result_of("u", 0.5)).text,
            "On one GPU all four together: 20.0 iterations a second under nvshare, 0.50 as Unified "
            "Memory (40 times as many).\n");
  EXPECT_FALSE(judge_crowds(result_of("n", 20), result_of("u", 21)).good);
  EXPECT_FALSE(judge_crowds(result_of("n", 20, false), result_of("u", 1)).good);
  EXPECT_FALSE(judge_crowds(result_of("n", 20), result_of("u", 1, false)).good);
  EXPECT_FALSE(judge_crowds({"n", {}}, result_of("u", 0)).good);
}

}  // namespace
}  // namespace nvs::workloads
