// SPDX-License-Identifier: Apache-2.0
#include "workloads/demo_plan.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "workloads/result_table.h"

namespace nvs::workloads {
namespace {

constexpr std::uint64_t kT4Bytes = 15655829504;

TEST(DemoPlan, FitsTwoT4sAtFullSize) { EXPECT_DOUBLE_EQ(plan_demo(2, kT4Bytes, 1).size_factor, 1); }

TEST(DemoPlan, FitsOneLargeGpu) {
  const DemoPlan plan = plan_demo(1, 140ull << 30, 1);
  EXPECT_DOUBLE_EQ(plan.size_factor, 1);
  for (const Scene& scene : plan.scenes) {
    for (const TenantSpec& tenant : scene.tenants) EXPECT_EQ(tenant.gpu, 0);
  }
}

TEST(DemoPlan, ShrinksToFitOneSmallGpu) {
  const double factor = plan_demo(1, kT4Bytes, 1).size_factor;
  EXPECT_LT(factor, 0.6);
  EXPECT_GT(factor, 0.4);
}

TEST(DemoPlan, LabelsAreUniqueWithinAScene) {
  for (const Scene& scene : plan_demo(2, kT4Bytes, 1).scenes) {
    std::set<std::string> labels;
    for (const TenantSpec& tenant : scene.tenants) labels.insert(tenant.label);
    EXPECT_EQ(labels.size(), scene.tenants.size());
  }
}

Tenant ended(const char* label, int gpu, const ResultStatus& result) {
  return {.spec = {.label = label, .gpu = gpu, .arguments = {}, .environment = {}},
          .phase = Phase::kEnded,
          .result = result};
}

TEST(ResultTable, ShowsWhatTheRequirementsAskFor) {
  const Tenant tenants[] = {
      ended("add", 0, {.pass = true, .iterations = 300, .seconds = 15, .rate = 20}),
      ended("add", 1, {.pass = true, .iterations = 500, .seconds = 25, .rate = 20}),
      ended("infer", 1, {.pass = false, .iterations = 90, .seconds = 30, .rate = 3})};
  EXPECT_EQ(render_results(tenants),
            "tenant   GPU  result  seconds  it/s\n"
            "-------  ---  ------  -------  ----\n"
            "add        0  PASS       15.0  20.0\n"
            "add        1  PASS       25.0  20.0\n"
            "infer      1  FAIL       30.0   3.0\n"
            "-------  ---  ------  -------  ----\n"
            "min                      15.0  20.0\n"
            "max                      25.0  20.0\n"
            "average                  20.0  20.0\n");
}

TEST(ResultTable, TellsWhyTenantsFailed) {
  Tenant tenant = ended("infer", 1, {});
  tenant.result.message = "the process ended with code 3";
  tenant.output = "one\ntwo";
  EXPECT_EQ(render_failures({&tenant, 1}),
            "infer on GPU 1 failed: the process ended with code 3\n"
            "  it printed:\n"
            "    one\n"
            "    two\n");
  tenant.output = "infer: FAIL: " + tenant.result.message;
  EXPECT_EQ(render_failures({&tenant, 1}),
            "infer on GPU 1 failed: the process ended with code 3\n");
  tenant.result.pass = true;
  EXPECT_EQ(render_failures({&tenant, 1}), "");
}

TEST(LiveLine, ShowsWhereATenantStands) {
  Tenant tenant = ended("add", 0, {.pass = true, .seconds = 15, .rate = 20});
  EXPECT_EQ(render_tenant(tenant, 5), "add    GPU 0  PASS  15.0 s  20.0 it/s");
  tenant.result = {.message = "cuInit failed\n  advice"};
  EXPECT_EQ(render_tenant(tenant, 5), "add    GPU 0  FAIL  cuInit failed");
  tenant.phase = Phase::kStarting;
  EXPECT_EQ(render_tenant(tenant, 3), "add  GPU 0  takes its memory");
}

}  // namespace
}  // namespace nvs::workloads
