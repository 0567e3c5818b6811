// SPDX-License-Identifier: Apache-2.0
#include "workloads/node_status.h"

#include <gtest/gtest.h>

namespace nvs::workloads {
namespace {

TEST(NodeStatus, ReadsWhatTheDaemonSays) {
  const auto status = parse_node_status(
      R"({"ok":true,"result":{"version":"0.1.0","uptime_s":7.5,)"
      R"("gpus":[{"index":1,"uuid":"GPU-a","holder":7,)"
      R"("waiting":1,"switches":12,"held_s":1.5,"handover_s":0.25}],"tenants":[{"id":7,)"
      R"("name":"add","clients":[{"id":1,"pid":123},{"id":2,"pid":124}],"gpus":[{"gpu":1,)"
      R"("state":"running","used_s":1.25,"longest_wait_s":0.5,"windows":9,)"
      R"("cap_percent":75,"cap_in_force_percent":50,"throttled_s":0.75}]}]}})");
  ASSERT_TRUE(status);
  ASSERT_EQ(status->gpus.size(), 1u);
  EXPECT_EQ(status->gpus[0].index, 1);
  EXPECT_EQ(status->gpus[0].holder, 7u);
  EXPECT_EQ(status->gpus[0].switches, 12u);
  EXPECT_EQ(status->gpus[0].held_seconds, 1.5);
  EXPECT_EQ(status->gpus[0].handover_seconds, 0.25);
  ASSERT_EQ(status->tenants.size(), 1u);
  EXPECT_EQ(status->tenants[0].pids, (std::vector<pid_t>{123, 124}));
  ASSERT_EQ(status->tenants[0].gpus.size(), 1u);
  EXPECT_EQ(status->tenants[0].gpus[0].state, "running");
  EXPECT_EQ(status->tenants[0].gpus[0].used_seconds, 1.25);
  EXPECT_EQ(status->tenants[0].gpus[0].longest_wait_seconds, 0.5);
  EXPECT_EQ(status->tenants[0].gpus[0].windows, 9u);
  EXPECT_EQ(status->uptime_seconds, 7.5);
  EXPECT_EQ(status->tenants[0].gpus[0].cap_in_force_percent, 50);
  EXPECT_EQ(status->tenants[0].gpus[0].throttled_seconds, 0.75);
  EXPECT_EQ(find_tenant(*status, 124), &status->tenants[0]);
  EXPECT_EQ(find_tenant(*status, 125), nullptr);
}

TEST(NodeStatus, NobodyHoldsAGpu) {
  const auto status = parse_node_status(
      R"({"ok":true,"result":{"gpus":[{"index":0,"holder":null,"switches":0,"held_s":0,)"
      R"("handover_s":0}],"tenants":[]}})");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->gpus[0].holder, std::nullopt);
}

TEST(NodeStatus, RefusesWhatIsNoStatus) {
  for (const char* line :
       {"", "{", "[]", R"({"ok":true})", R"({"ok":false,"code":"denied","error":"no"})",
        R"({"ok":true,"result":{"gpus":[{"index":"first"}],"tenants":[]}})"}) {
    EXPECT_FALSE(parse_node_status(line)) << line;
  }
}

TEST(NodeStatus, ATenantWithoutACap) {
  const auto status = parse_node_status(
      R"({"ok":true,"result":{"gpus":[],"tenants":[{"id":7,"clients":[],"gpus":[{"gpu":1,)"
      R"("state":"idle","used_s":0,"longest_wait_s":0,"windows":0,)"
      R"("cap_in_force_percent":null}]}]}})");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->tenants[0].gpus[0].cap_in_force_percent, std::nullopt);
}

TEST(NodeAnswer, IsGoodOnlyIfItSaysSo) {
  EXPECT_TRUE(parse_node_answer(R"({"ok":true,"result":{}})"));
  for (const char* line : {"", "{", "[]", "{}", R"({"ok":false,"error":"no"})", R"({"ok":1})"}) {
    EXPECT_FALSE(parse_node_answer(line)) << line;
  }
}

}  // namespace
}  // namespace nvs::workloads
