// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/health.h"

#include <gtest/gtest.h>

namespace nvs::plugin {
namespace {

const std::string kGpu = "GPU-a";
const std::string kOther = "GPU-b";

Instant second(int seconds) { return Instant::from_ns(0) + Duration::from_s(seconds); }

TEST(HealthRules, AreThoseOfNvidiasPlugin) {
  EXPECT_EQ(parse_health_rules("", "")->ignored_xids,
            (std::set<std::uint64_t>{13, 31, 43, 45, 68, 109}));
  EXPECT_FALSE(parse_health_rules("all", "")->watches);
  EXPECT_FALSE(parse_health_rules("xids", "")->watches);
  const auto rules = parse_health_rules("79, 48", "13,31");
  EXPECT_EQ(rules->ignored_xids, (std::set<std::uint64_t>{43, 45, 48, 68, 79, 109}));
  EXPECT_EQ(parse_health_rules("many", "").error(),
            "DP_DISABLE_HEALTHCHECKS: 'many' is no number of an Xid");
  EXPECT_FALSE(parse_health_rules("", "7x"));
}

TEST(Health, AnErrorIsOfTheInstancesThatTheDriverNames) {
  const auto gpu = [](const char* uuid, const char* parent, std::optional<InstanceIds> instance) {
    OfferedGpu made;
    made.uuid = uuid;
    made.parent_uuid = parent;
    made.instance = instance;
    return made;
  };
  using Names = std::set<std::string>;
  const std::vector<OfferedGpu> gpus = {
      gpu("MIG-a1", "GPU-a", InstanceIds{1, 0}), gpu("MIG-a1b", "GPU-a", InstanceIds{1, 1}),
      gpu("MIG-a2", "GPU-a", InstanceIds{2, 0}), gpu("MIG-b1", "GPU-b", InstanceIds{1, 0}),
      gpu("GPU-c", "GPU-c", std::nullopt),       gpu("MIG-d", "GPU-d", std::nullopt)};
  EXPECT_EQ(patients_of(gpus, "GPU-a", 1, 1), Names{"MIG-a1b"});
  EXPECT_EQ(patients_of(gpus, "GPU-a", 1, std::nullopt), (Names{"MIG-a1", "MIG-a1b"}));
  EXPECT_EQ(patients_of(gpus, "GPU-a", std::nullopt, std::nullopt), Names{"GPU-a"});
  EXPECT_EQ(patients_of(gpus, "GPU-a", 7, 0), Names{}) << "it is not offered";
  EXPECT_EQ(patients_of(gpus, "GPU-c", 1, 0), Names{"GPU-c"});
  EXPECT_EQ(patients_of(gpus, "GPU-d", 1, 0), Names{"MIG-d"}) << "its ids are not known";
}

TEST(Health, AnErrorOfNobodyKnowsWhichGpuIsOfAll) {
  std::vector<OfferedGpu> gpus(3);
  gpus[0].uuid = gpus[0].parent_uuid = kGpu;
  gpus[1].uuid = gpus[1].parent_uuid = kOther;
  gpus[2].uuid = "MIG-c1";
  gpus[2].parent_uuid = "GPU-c";
  const auto patients = patients_of(gpus, "", std::nullopt, std::nullopt);
  EXPECT_EQ(patients, (std::set<std::string>{kGpu, kOther, "GPU-c"}));
  // An instance of a GPU that nobody knows may be any.
  EXPECT_EQ(patients_of(gpus, "", 1, 0), patients);
  EXPECT_EQ(patients_of({}, "", std::nullopt, std::nullopt), std::set<std::string>{});
  Health health{HealthRules{}};
  for (const std::string& gpu : patients) EXPECT_TRUE(health.xid(second(0), gpu, 79));
  EXPECT_FALSE(health.is_healthy(kOther));
  EXPECT_TRUE(health.tick(second(300)));
  for (const std::string& gpu : patients) EXPECT_TRUE(health.is_healthy(gpu));
}

TEST(Health, ACriticalErrorTakesTheGpuAway) {
  Health health{HealthRules{}};
  for (const std::uint64_t xid : {13U, 31U, 43U, 45U, 68U, 109U}) {
    EXPECT_FALSE(health.xid(second(0), kGpu, xid));
  }
  EXPECT_TRUE(health.is_healthy(kGpu));
  EXPECT_FALSE(health.next_deadline());
  EXPECT_TRUE(health.xid(second(1), kGpu, 79));
  EXPECT_FALSE(health.is_healthy(kGpu));
  EXPECT_EQ(health.reason(kGpu), "Xid 79");
  EXPECT_TRUE(health.is_healthy(kOther));
  // Known already.
  EXPECT_FALSE(health.xid(second(1), kGpu, 79));
}

TEST(Health, AQuietGpuComesBack) {
  Health health{HealthRules{}};
  health.xid(second(0), kGpu, 79);
  EXPECT_EQ(health.next_deadline(), second(300));
  EXPECT_FALSE(health.tick(second(299)));
  // An error in between makes it wait anew.
  health.xid(second(100), kGpu, 48);
  EXPECT_FALSE(health.tick(second(300)));
  EXPECT_TRUE(health.tick(second(400)));
  EXPECT_TRUE(health.is_healthy(kGpu));
  EXPECT_FALSE(health.next_deadline());
}

TEST(Health, WhatBreaksAgainSoonWaitsLonger) {
  Health health{HealthRules{}};
  int now = 0;
  for (const int wait : {300, 600, 1200, 2400, 3600, 3600}) {
    EXPECT_TRUE(health.xid(second(now), kGpu, 79));
    EXPECT_FALSE(health.tick(second(now + wait - 1)));
    EXPECT_TRUE(health.tick(second(now + wait)));
    now += wait + 10;
  }
  now += 25 * 3600;
  health.xid(second(now), kGpu, 79);
  EXPECT_TRUE(health.tick(second(now + 300)));
}

TEST(Health, OneThatDoesNotAnswerStaysAwayUntilItDoes) {
  Health health{HealthRules{}};
  EXPECT_TRUE(health.did_not_answer(second(0), kGpu, "GPU is lost"));
  EXPECT_FALSE(health.did_not_answer(second(1), kGpu, "GPU is lost"));
  EXPECT_EQ(health.reason(kGpu), "GPU is lost");
  health.xid(second(2), kGpu, 79);
  EXPECT_FALSE(health.tick(second(302)));  // quiet, but still silent
  EXPECT_FALSE(health.is_healthy(kGpu));
  EXPECT_TRUE(health.answered(second(303), kGpu));
  EXPECT_TRUE(health.is_healthy(kGpu));
  EXPECT_FALSE(health.answered(second(304), kGpu));
}

TEST(Health, CanBeSwitchedOff) {
  Health health{*parse_health_rules("all", "")};
  EXPECT_FALSE(health.xid(second(0), kGpu, 79));
  EXPECT_FALSE(health.did_not_answer(second(0), kGpu, "lost"));
  EXPECT_TRUE(health.is_healthy(kGpu));
}

}  // namespace
}  // namespace nvs::plugin
