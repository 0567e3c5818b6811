// SPDX-License-Identifier: Apache-2.0
#include "workloads/quota.h"

#include <gtest/gtest.h>

namespace nvs::workloads {
namespace {

constexpr pid_t kFirstPid = 11;
constexpr pid_t kSecondPid = 12;

std::vector<Tenant> tenants_of(const QuotaPlan& plan, Phase phase) {
  std::vector<Tenant> tenants;
  for (const TenantSpec& spec : plan.scene.tenants) {
    tenants.push_back({.spec = spec,
                       .pid = tenants.empty() ? kFirstPid : kSecondPid,
                       .phase = phase,
                       .result = {.pass = true}});
  }
  return tenants;
}

// A daemon that bills its tenants what their caps say, and changes those when it is told to.
class FakeNode {
 public:
  NodeStatus status() const {
    return {.uptime_seconds = now_, .gpus = {}, .tenants = {first_, second_}};
  }

  void pass(double seconds) {
    now_ += seconds;
    for (NodeTenant* tenant : {&first_, &second_}) {
      GpuUse& use = tenant->gpus[0];
      use.used_seconds += seconds * *use.cap_in_force_percent / 100;
      use.throttled_seconds += seconds / 2;
    }
  }

  void set(const CoreLimit& limit) {
    NodeTenant& tenant = limit.tenant == first_.id ? first_ : second_;
    tenant.gpus[0].cap_in_force_percent = limit.percent;
  }

  // As a tenant that had saved something would have.
  void bill_first(double seconds) { first_.gpus[0].used_seconds += seconds; }

 private:
  double now_ = 100;
  NodeTenant first_{.id = 7, .pids = {kFirstPid}, .gpus = {{.cap_in_force_percent = 30}}};
  NodeTenant second_{.id = 8, .pids = {kSecondPid}, .gpus = {{.cap_in_force_percent = 60}}};
};

TEST(QuotaPlan, CapsComeWithTheEnvironmentAndTimeWithTheLength) {
  const QuotaPlan plan = plan_quotas(0.5);
  ASSERT_EQ(plan.scene.tenants.size(), plan.caps.size());
  EXPECT_EQ(plan.scene.tenants[0].environment,
            std::vector<std::string>{"NVSHARE_GPU_CORE_LIMIT=30"});
  EXPECT_EQ(plan.scene.tenants[1].environment,
            std::vector<std::string>{"NVSHARE_GPU_CORE_LIMIT=60"});
  EXPECT_EQ(plan.scene.tenants[0].arguments.back(), "4.000");
  EXPECT_DOUBLE_EQ(plan.change_seconds, 2);
  EXPECT_DOUBLE_EQ(plan.settle_seconds, 0.5);
  EXPECT_DOUBLE_EQ(plan_quotas(3).settle_seconds, 1);
  EXPECT_GT(plan_quotas(0.01).change_seconds, 1) << "or nobody sees it";
}

TEST(QuotaWatch, ComparesWhatWasBilledUnderEachCap) {
  const QuotaPlan plan = plan_quotas(1);
  const std::vector<Tenant> tenants = tenants_of(plan, Phase::kRunning);
  FakeNode node;
  QuotaWatch watch(plan);
  int changes = 0;
  constexpr double kTick = 1.0 / 16;
  for (int i = 0; i <= 8 * 16; ++i, node.pass(kTick)) {
    const std::vector<CoreLimit> limits = watch.take(node.status(), tenants);
    if (!limits.empty()) {
      ++changes;
      EXPECT_DOUBLE_EQ(node.status().uptime_seconds, 104);
      ASSERT_EQ(limits.size(), 2u);
      for (const CoreLimit& limit : limits) node.set(limit);
    }
    // What comes right after a change does not count.
    if (i == 3 || !limits.empty()) node.bill_first(0.5);
  }
  EXPECT_EQ(changes, 1);
  const std::vector<QuotaRow> rows = watch.rows(tenants);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NEAR(rows[0].before.percent, 30, 1e-6);
  EXPECT_NEAR(rows[0].after.percent, 60, 1e-6);
  EXPECT_NEAR(rows[1].before.percent, 60, 1e-6);
  EXPECT_NEAR(rows[1].after.percent, 30, 1e-6);
  EXPECT_DOUBLE_EQ(rows[0].before.seconds, 3);
  EXPECT_DOUBLE_EQ(rows[0].after.seconds, 3);
  EXPECT_EQ(rows[0].before.in_force, 30);
  EXPECT_EQ(rows[0].after.in_force, 60);
  EXPECT_DOUBLE_EQ(rows[0].throttled_seconds, 4);
  EXPECT_TRUE(is_good(rows[0]));
  EXPECT_TRUE(is_good(rows[1]));
}

TEST(QuotaWatch, CountsOnlyWhileAllAreAtWork) {
  const QuotaPlan plan = plan_quotas(1);
  std::vector<Tenant> tenants = tenants_of(plan, Phase::kRunning);
  FakeNode node;
  QuotaWatch watch(plan);
  tenants[1].phase = Phase::kVerifying;
  for (int i = 0; i < 80; ++i, node.pass(0.1)) {
    EXPECT_TRUE(watch.take(node.status(), tenants).empty());
  }
  const std::vector<QuotaRow> rows = watch.rows(tenants);
  EXPECT_EQ(rows[0].before.seconds, 0);
  EXPECT_FALSE(is_good(rows[0]));
}

QuotaRow row(QuotaGot before, QuotaGot after) {
  return {.label = "add",
          .gpu = 0,
          .before = before,
          .after = after,
          .throttled_seconds = 4.56,
          .data_right = true};
}

TEST(QuotaTable, TellsWhatEachGotAndMarksWhoIsOff) {
  const QuotaGot first{.cap = 30, .in_force = 30, .seconds = 3, .percent = 30.21};
  const QuotaGot second{.cap = 60, .in_force = 60, .seconds = 3, .percent = 54.5};
  const QuotaRow rows[] = {row(first, first), row(first, second)};
  EXPECT_EQ(render_quotas(rows),
            "tenant  GPU  cap %  got %  then cap %  got %  throttled s  result\n"
            "------  ---  -----  -----  ----------  -----  -----------  ------\n"
            "add       0     30   30.2          30   30.2          4.6  PASS\n"
            "add       0     30   30.2          60   54.5          4.6  FAIL\n"
            "add: 54.5 % is more than 5 points off its cap of 60 %.\n");
}

TEST(QuotaTable, ShortLooksAreNotJudged) {
  const QuotaGot off{.cap = 30, .in_force = 30, .seconds = 0.5, .percent = 80};
  const QuotaRow rows[] = {row(off, off)};
  EXPECT_TRUE(is_good(rows[0]));
  EXPECT_NE(render_quotas(rows).find("PASS\nToo short to judge what each got.\n"),
            std::string::npos);
}

TEST(QuotaTable, WhatCannotBeGoodIsNot) {
  const QuotaGot good{.cap = 30, .in_force = 30, .seconds = 3, .percent = 30};
  EXPECT_TRUE(is_good(row(good, good)));
  QuotaRow wrong_data = row(good, good);
  wrong_data.data_right = false;
  EXPECT_FALSE(is_good(wrong_data));
  const QuotaRow unseen = row(good, {.cap = 60});
  EXPECT_FALSE(is_good(unseen));
  EXPECT_NE(render_quotas({&unseen, 1}).find("add: what it got of its 60 % was not seen.\n"),
            std::string::npos);
  QuotaGot not_in_force = good;
  not_in_force.in_force = 20;
  EXPECT_FALSE(is_good(row(not_in_force, good)));
}

}  // namespace
}  // namespace nvs::workloads
