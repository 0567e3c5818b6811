// SPDX-License-Identifier: Apache-2.0
#include "daemon/troubles.h"

#include <string>

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

class TroublesTest : public ::testing::Test {
 protected:
  static constexpr core::TenantId kTenant{7};
  static constexpr core::GpuId kGpu{0};

  TroublesTest() {
    gpus_.add(unknown_gpu({1}), {});
    Tenant tenant;
    tenant.key = "container:/a";
    tenant.name = "ml/train";
    tenant.pod_namespace = "ml";
    tenant.pod = "train";
    clients_.add_tenant(kTenant, tenant);
    clients_.add_client(core::ClientId{1}, kTenant, 100);
    view_.gpus.push_back({});
    core::TenantOnGpu on{};
    on.gpu = kGpu;
    view_.tenants.push_back({.tenant = kTenant, .clients = {core::ClientId{1}}, .gpus = {on}});
  }

  core::TenantOnGpu& on_gpu() { return view_.tenants[0].gpus[0]; }
  // The lines of one look, without their times, so long after the last one.
  std::string look(Duration later = kTroubleLook) {
    now_ += later;
    EXPECT_TRUE(troubles_.may_look(now_));
    ::testing::internal::CaptureStderr();
    troubles_.look(now_, view_, clients_, gpus_);
    EXPECT_FALSE(troubles_.may_look(now_));
    std::string lines = ::testing::internal::GetCapturedStderr();
    return lines.empty() ? "" : lines.substr(lines.find("level="));
  }

  Instant now_ = Instant::from_ns(1'000'000'000'000);
  GpuTable gpus_;
  ClientTable clients_;
  core::NodeView view_;
  Troubles troubles_;
};

TEST_F(TroublesTest, ALineWhenItBeginsAndOneWhenItEnds) {
  EXPECT_EQ(look(), "");
  on_gpu().state = core::TenantState::unresponsive;
  EXPECT_EQ(look(),
            "level=warning module=troubles msg=\"a tenant does not answer: it loses its window, "
            "and others go on without it\" tenant=ml/train tenant_id=7 namespace=ml pod=train "
            "gpu=GPU-01000000-0000-0000-0000-000000000000 times=1\n");
  EXPECT_EQ(look(), "") << "once";
  on_gpu().state = core::TenantState::waiting;
  const std::string end = look();
  EXPECT_NE(end.find("level=info"), std::string::npos);
  EXPECT_NE(end.find("\"a tenant answers again\" tenant=ml/train tenant_id=7"), std::string::npos);
  EXPECT_NE(end.find("after_ms=200"), std::string::npos) << end;
  EXPECT_EQ(look(), "");
}

TEST_F(TroublesTest, EachKindHasItsOwn) {
  view_.gpus[0].loose.push_back(kTenant);
  EXPECT_NE(look().find("cannot end its work"), std::string::npos);
  on_gpu().stuck = true;
  EXPECT_NE(look().find("does not move its memory"), std::string::npos);
  view_.gpus[0].loose.clear();
  EXPECT_NE(look().find("ends its work again"), std::string::npos);
  on_gpu().stuck = false;
  EXPECT_NE(look().find("moves its memory again"), std::string::npos);
}

TEST_F(TroublesTest, AgainAndAgainIsCounted) {
  on_gpu().stuck = true;
  EXPECT_NE(look(), "");
  on_gpu().stuck = false;
  EXPECT_NE(look(), "");
  for (int i = 0; i < 5; ++i) {
    on_gpu().stuck = true;
    EXPECT_EQ(look(), "");
    on_gpu().stuck = false;
    EXPECT_EQ(look(), "") << "nor the end of what was not said";
  }
  on_gpu().stuck = true;
  EXPECT_NE(look(kTroubleLinesApart).find("times=6"), std::string::npos);
}

TEST_F(TroublesTest, WhatLastsIsSaidLater) {
  on_gpu().stuck = true;
  EXPECT_NE(look(), "");
  on_gpu().stuck = false;
  EXPECT_NE(look(), "");
  on_gpu().stuck = true;
  EXPECT_EQ(look(), "");
  EXPECT_NE(look(kTroubleLinesApart).find("times=1"), std::string::npos);
}

TEST_F(TroublesTest, WhoLeavesIsForgotten) {
  on_gpu().stuck = true;
  EXPECT_NE(look(), "");
  view_.tenants.clear();
  EXPECT_EQ(look(), "");
}

}  // namespace
}  // namespace nvs::daemon
