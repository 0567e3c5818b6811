// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/admin_messages.h"

#include <gtest/gtest.h>

#include "cli/ctl/exit_codes.h"

namespace nvs::cli {
namespace {

constexpr const char* kStatus = R"({"ok":true,"result":{
  "version":"0.1.0","folder":"/f","pid":12,"uptime_s":3.5,"new_field":[1],
  "host_memory":{"cap_bytes":4096,"held_bytes":1000,"kept_bytes":24,"ready_bytes":2048,
    "refused":3,"new":1},
  "gpus":[{"index":0,"uuid":"GPU-aa","name":"H200","memory_bytes":1024,"mig":false,"mode":"auto",
    "capacity_bytes":900,"visible_bytes":800,"other_bytes":100,"swap_idle_s":0.75,
    "nvml_error":"GPU is lost",
    "window_ms":20,"turn_s":null,"holder":4,"waiting":1,"switches":2,"held_s":1.5,"handover_s":0.1,
    "loose":[]},
    {"index":1,"uuid":"GPU-bb","name":"H200","memory_bytes":0,"mig":true,"mode":"serial",
    "window_ms":12.5,"turn_s":30,"holder":null,"waiting":0,"switches":0,"held_s":0,"handover_s":0}],
  "tenants":[{"id":4,"name":"train.py","program":"python","pod":null,"namespace":null,
    "container":null,"priority":"high","weight":100,"paused":true,"clients":[{"id":9,"pid":77}],
    "gpus":[{"gpu":0,"state":"running","used_s":1.25,"waited_s":0.5,"waiting_now_s":0,
      "longest_wait_s":0.25,"windows":7,"memory_bytes":4096,"resident_bytes":2048,
      "swapped_bytes":1000,
      "clean_bytes":24,"fixed_bytes":48,"host_bytes":1500,"managed_bytes":9,"driver_bytes":77,
      "memory_wait_s":0.125,"copied_out_bytes":300,"copied_in_bytes":200}]}]}})";

TEST(AdminMessages, RequestsAreOneLine) {
  EXPECT_EQ(status_request(), R"({"command":"status"})");
  EXPECT_EQ(set_request("mode", "serial", {"all"}),
            R"({"command":"set","gpu":"all","mode":"serial"})");
  EXPECT_EQ(set_request("window", "0.02", {"3"}), R"({"command":"set","gpu":3,"window_ms":20.0})");
  EXPECT_EQ(set_request("turn", "30", {"GPU-1"}),
            R"({"command":"set","gpu":"GPU-1","turn_s":30.0})");
  EXPECT_EQ(set_request("turn", "auto", {"all"}),
            R"({"command":"set","gpu":"all","turn_s":"auto"})");
  EXPECT_EQ(set_request("mode", "auto", {"3", "GPU-1"}),
            R"({"command":"set","gpu":[3,"GPU-1"],"mode":"auto"})");
  EXPECT_EQ(pause_request(true, "7"), R"({"command":"pause","tenant":7})");
  EXPECT_EQ(pause_request(false, "a\"\n7"), R"({"command":"resume","tenant":"a\"\n7"})");
  EXPECT_EQ(priority_request("low", "x"),
            R"({"command":"priority","priority":"low","tenant":"x"})");
  EXPECT_EQ(weight_request("200", "3"), R"({"command":"weight","tenant":3,"weight":200})");
  EXPECT_EQ(trace_request(2.5), R"({"command":"trace","seconds":2.5})");
  // Longer than any number that the daemon gives: a name.
  EXPECT_EQ(pause_request(true, "12345678901234567890"),
            R"({"command":"pause","tenant":"12345678901234567890"})");
}

TEST(AdminMessages, StatusIsRead) {
  const auto node = status_of(kStatus);
  ASSERT_TRUE(node) << node.error().text;
  EXPECT_EQ(node->pid, 12u);
  EXPECT_EQ(node->uptime_s, 3.5);
  ASSERT_TRUE(node->host_memory);
  EXPECT_EQ(node->host_memory->cap_bytes, 4096u);
  EXPECT_EQ(node->host_memory->held_bytes, 1024u);
  EXPECT_EQ(node->host_memory->ready_bytes, 2048u);
  EXPECT_EQ(node->host_memory->refused, 3u);
  EXPECT_FALSE(status_of(R"({"ok":true,"result":{"gpus":[],"tenants":[]}})")->host_memory);
  ASSERT_EQ(node->gpus.size(), 2u);
  EXPECT_EQ(node->gpus[0].holder, 4u);
  EXPECT_FALSE(node->gpus[0].turn_s);
  EXPECT_FALSE(node->gpus[1].holder);
  EXPECT_EQ(node->gpus[1].turn_s, 30);
  EXPECT_EQ(node->gpus[1].window_ms, 12.5);
  ASSERT_EQ(node->tenants.size(), 1u);
  EXPECT_EQ(node->tenants[0].name, "train.py");
  EXPECT_TRUE(node->tenants[0].paused);
  EXPECT_EQ(node->tenants[0].pids, std::vector<std::uint64_t>{77});
  ASSERT_EQ(node->tenants[0].uses.size(), 1u);
  EXPECT_EQ(node->tenants[0].uses[0].state, "running");
  EXPECT_EQ(node->tenants[0].uses[0].used_s, 1.25);
  const UseStatus& use = node->tenants[0].uses[0];
  EXPECT_EQ(use.memory_bytes, 4096u);
  EXPECT_EQ(use.resident_bytes, 2048u);
  EXPECT_EQ(use.swapped_bytes, 1000u);
  EXPECT_EQ(use.clean_bytes, 24u);
  EXPECT_EQ(use.fixed_bytes, 48u);
  EXPECT_EQ(use.managed_bytes, 9u);
  EXPECT_EQ(use.host_bytes, 1500u);
  EXPECT_EQ(use.driver_bytes, 77u);
  EXPECT_EQ(node->gpus[0].capacity_bytes, 900u);
  EXPECT_EQ(node->gpus[0].visible_bytes, 800u);
  EXPECT_EQ(node->gpus[0].other_bytes, 100u);
  EXPECT_EQ(node->gpus[1].capacity_bytes, 0u) << "of an older daemon";
  EXPECT_EQ(node->gpus[0].swap_idle_s, 0.75);
  EXPECT_EQ(node->gpus[0].nvml_error, "GPU is lost");
  EXPECT_EQ(node->gpus[1].nvml_error, "") << "of an older daemon";
  EXPECT_EQ(use.memory_wait_s, 0.125);
  EXPECT_EQ(use.copied_out_bytes, 300u);
  EXPECT_EQ(use.copied_in_bytes, 200u);
}

TEST(AdminMessages, AChangeMayBeInForceAndNotSaved) {
  EXPECT_TRUE(check_change(R"({"ok":true,"result":{"tenant":5,"name":"x"}})"));
  EXPECT_TRUE(check_change(R"({"ok":true,"result":null})"));
  EXPECT_EQ(check_change(R"({"ok":false,"error":"no"})").error().code, kCtlRefused);
  const auto unsaved = check_change(
      R"({"ok":true,"result":{"unsaved":{"file":"/f/state.json","error":"No space\u001b"}}})");
  ASSERT_FALSE(unsaved);
  EXPECT_EQ(unsaved.error().code, kCtlFailed);
  EXPECT_EQ(unsaved.error().text,
            "it is in force, but could not be written to /f/state.json: No space?; a restart of "
            "the daemon will lose it");
  EXPECT_EQ(check_change(R"({"ok":true,"result":{"unsaved":{"file":7}}})").error().code,
            kCtlFailed);
}

TEST(AdminMessages, LimitsOfATenant) {
  EXPECT_EQ(limit_request("memory", "4Gi", "train.py"),
            R"({"command":"limit","memory":"4Gi","tenant":"train.py"})");
  EXPECT_EQ(limit_request("cores", "40", "7"), R"({"command":"limit","cores":"40","tenant":7})");
  const auto node = status_of(
      R"({"ok":true,"result":{"gpus":[],"tenants":[{"id":1,"clients":[],"limit_errors":["bad"],)"
      R"("gpus":[{"gpu":0,"state":"throttled","memory_limit_bytes":4096,"memory_used_bytes":9,)"
      R"("cap_percent":75,"cap_in_force_percent":50.5,"share_10s":0.5,"share_60s":null,)"
      R"("throttled_s":1.5},{"gpu":1,"state":"idle","memory_limit_bytes":null}]}]}})");
  ASSERT_TRUE(node) << node.error().text;
  const TenantStatus& tenant = node->tenants.at(0);
  EXPECT_EQ(tenant.limit_errors, std::vector<std::string>{"bad"});
  EXPECT_EQ(tenant.uses[0].memory_limit_bytes, 4096U);
  EXPECT_EQ(tenant.uses[0].memory_used_bytes, 9U);
  EXPECT_EQ(tenant.uses[0].cap_percent, 75);
  EXPECT_EQ(tenant.uses[0].cap_in_force_percent, 50.5);
  EXPECT_EQ(tenant.uses[0].share_10s, 0.5);
  EXPECT_EQ(tenant.uses[0].share_60s, std::nullopt);
  EXPECT_EQ(tenant.uses[0].driver_bytes, std::nullopt) << "of an older daemon";
  EXPECT_EQ(tenant.uses[0].throttled_s, 1.5);
  EXPECT_EQ(tenant.uses[1].memory_limit_bytes, std::nullopt);
  EXPECT_EQ(tenant.uses[1].cap_percent, std::nullopt);
}

TEST(AdminMessages, ARefusalKeepsTheDaemonsWords) {
  const auto refused = result_text(R"({"ok":false,"code":"not_found","error":"no tenant 'x'"})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, kCtlRefused);
  EXPECT_EQ(refused.error().text, "no tenant 'x'");
  const auto mute = result_text(R"({"ok":false})");
  ASSERT_FALSE(mute);
  EXPECT_EQ(mute.error().code, kCtlRefused);
}

TEST(AdminMessages, WhatIsNotUnderstoodIsAFailure) {
  for (const char* answer :
       {"", "x", "[]", "{}", R"({"ok":1})", R"({"ok":true})", R"({"ok":true,"result":[]})",
        R"({"ok":true,"result":{"gpus":1}})", R"({"ok":true,"result":{"gpus":[{}],"tenants":[]}})",
        R"({"ok":true,"result":{"gpus":[{"index":"a"}],"tenants":[]}})",
        R"({"ok":true,"result":{"gpus":[7],"tenants":[]}})",
        R"({"ok":true,"result":{"host_memory":7,"gpus":[],"tenants":[]}})"}) {
    const auto node = status_of(answer);
    ASSERT_FALSE(node) << answer;
    EXPECT_EQ(node.error().code, kCtlFailed) << answer;
    EXPECT_NE(node.error().text.find("of the same version?"), std::string::npos) << answer;
  }
}

TEST(AdminMessages, TheResultAsText) {
  EXPECT_EQ(result_text(R"({"ok":true,"result":{"b":[1]}})").value(),
            "{\n  \"b\": [\n    1\n  ]\n}\n");
}

}  // namespace
}  // namespace nvs::cli
