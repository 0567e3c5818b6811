// SPDX-License-Identifier: Apache-2.0
// What the API server and the kubelet say reaches tenants, whoever comes first.
#include <gtest/gtest.h>

#include "daemon/test_node_pods.h"

namespace nvs::daemon {
namespace {

TEST_F(NodePodsTest, ATenantHasTheNameAndLimitsOfItsPod) {
  pod({{"nvshare.com/gpu-core-limit", "30"}, {"nvshare.com/gpu-memory-limit", "400"}});
  slot();
  const Tenant& tenant = join(1, "90");
  EXPECT_EQ(tenant.standing, Standing::verified);
  EXPECT_EQ(tenant.name, "ml/train");
  EXPECT_EQ(tenant.container_name, "main");
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{30, LimitSource::annotation}));
  EXPECT_EQ(tenant.limits.memory().source, LimitSource::annotation);
}

TEST_F(NodePodsTest, ItMayBeThereBeforeAnybodyTellsOfIt) {
  const Tenant& tenant = join(1, "90");
  EXPECT_EQ(tenant.standing, Standing::unverified);
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{50, LimitSource::defaults}))
      << "it brings 90, and nobody knows who it is";
  pod({{"nvshare.com/gpu-core-limit", "30"}});
  EXPECT_EQ(tenant.standing, Standing::unverified);
  EXPECT_EQ(tenant.limits.cores().value, 30U) << "lower is in force at once";
  pod({{"nvshare.com/gpu-core-limit", "60"}}, kube::PodChange::Kind::changed);
  EXPECT_EQ(tenant.limits.cores().value, 50U) << "higher is not";
  pod({{"nvshare.com/gpu-core-limit", "30"}}, kube::PodChange::Kind::changed);
  slot();
  EXPECT_EQ(tenant.standing, Standing::verified);
  EXPECT_EQ(tenant.name, "ml/train");
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{30, LimitSource::annotation}));
}

TEST_F(NodePodsTest, AChangeIsInForceAtOnceAndSoIsItsEnd) {
  pod();
  slot();
  const Tenant& tenant = join(1, "90");
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{90, LimitSource::environment}));
  pod({{"nvshare.com/gpu-core-limit", "20"}}, kube::PodChange::Kind::changed);
  EXPECT_EQ(tenant.limits.cores().value, 20U);
  EXPECT_EQ(node_->status(kStart, {}).find(R"("cap_percent":20)"), std::string::npos)
      << "it uses no GPU yet";
  node_->step(kStart, core::Wanted{core::ClientId{1}, kGpu}, effects_);
  EXPECT_NE(node_->status(kStart, {}).find(R"("cap_percent":20)"), std::string::npos)
      << node_->status(kStart, {});
  pod({}, kube::PodChange::Kind::changed);
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{90, LimitSource::environment}));
}

TEST_F(NodePodsTest, ABadAnnotationIsSaidAndLeavesTheLimit) {
  pod({{"nvshare.com/gpu-core-limit", "20"}});
  slot();
  const Tenant& tenant = join();
  pod({{"nvshare.com/gpu-core-limit", "lots"}}, kube::PodChange::Kind::changed);
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{20, LimitSource::annotation}));
  ASSERT_EQ(tenant.annotation_errors.size(), 1U);
  const std::string status = node_->status(kStart, {});
  EXPECT_NE(status.find(R"("bad_annotations":1)"), std::string::npos) << status;
  EXPECT_NE(status.find("lots"), std::string::npos) << status;
  pod({{"nvshare.com/gpu-core-limit", "40"}}, kube::PodChange::Kind::changed);
  EXPECT_EQ(tenant.limits.cores().value, 40U);
  EXPECT_TRUE(tenant.annotation_errors.empty());
}

TEST_F(NodePodsTest, LimitsOfAPodThatWasDeletedByForceHoldUntilItEnds) {
  pod({{"nvshare.com/gpu-core-limit", "20"}});
  slot();
  const Tenant& tenant = join();
  pod({}, kube::PodChange::Kind::removed);
  EXPECT_EQ(tenant.limits.cores().value, 20U);
  node_->leave(kStart, core::ClientId{1}, effects_);
  EXPECT_EQ(pod_count(), 0U);
  EXPECT_EQ(join(2).limits.cores().value, 50U);
}

TEST_F(NodePodsTest, TheNextDaemonKnowsLimitsBeforeItReachesTheServer) {
  pod({{"nvshare.com/gpu-core-limit", "70"}});
  slot();
  start();
  node_->update_pods(kStart, {{}, kube::Health{}, {}}, effects_);  // it cannot be reached
  const Tenant& tenant = join();
  EXPECT_EQ(tenant.standing, Standing::verified);
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{70, LimitSource::annotation}));
  start();
  EXPECT_EQ(join().limits.cores().value, 70U) << "and the one after it";
  pod();
  EXPECT_EQ(join(2).limits.cores().value, 50U) << "until the server says otherwise";
}

TEST_F(NodePodsTest, WhatAContainerAskedForOutlivesTheDaemonToo) {
  pod();
  const SlotUse use{kSlot, {"ml", "train"}, "main", MemoryWord::of({400, 0}), CoresWord::of(80)};
  const SlotUse other{"GPU-1::1", {"ml", "serve"}, "main", {}, CoresWord::of(10)};
  node_->update_slots(kStart, {true, true, {use}, {}}, effects_);
  for (int restart = 0; restart < 2; ++restart) {
    start();
    node_->update_pods(kStart, {{}, kube::Health{}, {}}, effects_);
  }
  const Tenant& tenant = join();
  const EffectiveLimit<std::uint32_t> asked{80, LimitSource::resource};
  EXPECT_EQ(tenant.limits.cores(), asked) << "above what the node gives, and no plugin has spoken";
  EXPECT_EQ(tenant.limits.memory().value, (MemoryAmount{400, 0}));
  node_->update_slots(kStart, {true, false, {other}, {}}, effects_);
  EXPECT_EQ(tenant.limits.cores(), asked) << "the list is not whole";
  node_->update_slots(kStart, {false, true, {}, {}}, effects_);
  EXPECT_EQ(tenant.standing, Standing::unverified);
  EXPECT_EQ(tenant.limits.cores().value, 50U);
  start();
  EXPECT_EQ(join().standing, Standing::unverified) << "what is not in use is not kept";
}

TEST_F(NodePodsTest, ABadAnnotationLeavesTheLimitOverARestartToo) {
  pod({{"nvshare.com/gpu-core-limit", "20"}});
  pod({{"nvshare.com/gpu-core-limit", "lots"}}, kube::PodChange::Kind::changed);
  start();
  pod({{"nvshare.com/gpu-core-limit", "lots"}});
  EXPECT_EQ(join().limits.cores().value, 20U);
}

TEST_F(NodePodsTest, PodsThatTheFirstListDoesNotHaveAreForgotten) {
  const kube::Pod other{"other", "ml", "serve", {{"nvshare.com/gpu-core-limit", "10"}}};
  pod({{"nvshare.com/gpu-core-limit", "20"}});
  list({{kube::PodChange::Kind::added, other}});
  start();
  EXPECT_EQ(pod_count(), 2U);
  join();
  list({}, kAllBack);
  EXPECT_EQ(pod_count(), 1U) << "one was deleted and still runs";
  node_->leave(kAllBack, core::ClientId{1}, effects_);
  EXPECT_EQ(pod_count(), 0U);
  start();
  EXPECT_EQ(pod_count(), 0U);
}

TEST_F(NodePodsTest, TenantsOfADeletedPodMayComeBackAfterTheFirstList) {
  pod({{"nvshare.com/gpu-core-limit", "20"}});
  start();
  list({});
  EXPECT_EQ(join().limits.cores().value, 20U);
  list({}, kAllBack);
  EXPECT_EQ(pod_count(), 1U) << "it still runs";
  start();
  list({});
  EXPECT_EQ(pod_count(), 1U) << "over the next restart too";
  list({}, kAllBack);
  EXPECT_EQ(pod_count(), 0U) << "nobody has come";
}

TEST_F(NodePodsTest, WhoDeletesThePictureOfAPodFromAFileLiftsNoLimit) {
  list({{kube::PodChange::Kind::added, picture("a", "20")}});
  start();
  slot();
  const Tenant& tenant = join_from_file();
  EXPECT_EQ(tenant.standing, Standing::verified);
  EXPECT_EQ(tenant.limits.cores().value, 20U);
  list({});
  list({}, kAllBack);
  EXPECT_EQ(tenant.standing, Standing::verified) << "it still runs";
  EXPECT_EQ(tenant.limits.cores().value, 20U);
  join_from_file(2);
  node_->leave(kAllBack, core::ClientId{1}, effects_);
  EXPECT_EQ(pod_count(), 1U);
  EXPECT_EQ(tenant.limits.cores().value, 20U);
  node_->leave(kAllBack, core::ClientId{2}, effects_);
  EXPECT_EQ(pod_count(), 0U);
  EXPECT_EQ(join_from_file().limits.cores().value, 50U);
}

TEST_F(NodePodsTest, OfAllPicturesThatComeAndGoTheLastCounts) {
  using Kind = kube::PodChange::Kind;
  list({{Kind::added, picture("m-0", "20")}});
  slot();
  const Tenant& tenant = join_from_file();
  // The uids of some are before the last one's, those of others after it.
  for (int i = 1; i < 10; ++i) {
    const std::string uid = (i % 2 == 0 ? "a-" : "z-") + std::to_string(i);
    const std::string before = i == 1 ? "m-0" : (i % 2 == 0 ? "z-" : "a-") + std::to_string(i - 1);
    list({{Kind::removed, picture(before, "")}});
    EXPECT_EQ(pod_count(), 1U);
    list({{Kind::added, picture(uid, std::to_string(20 + i))}});
    EXPECT_EQ(pod_count(), 1U);
    EXPECT_EQ(tenant.limits.cores().value, 20U + static_cast<unsigned>(i));
  }
}

TEST_F(NodePodsTest, PicturesThatAreMadeUpAreNotKept) {
  using Kind = kube::PodChange::Kind;
  list({{Kind::added, picture("a", "20")}});
  slot();
  const Tenant& tenant = join_from_file();
  for (int i = 0; i < 10; ++i) {
    const std::string name = "evil-" + std::to_string(i);
    list({{Kind::added, picture(name, "1", name)}});
    list({{Kind::removed, picture(name, "1", name)}});
  }
  EXPECT_EQ(pod_count(), 1U);
  EXPECT_EQ(tenant.limits.cores().value, 20U);
}

TEST_F(NodePodsTest, TenantsOutsideOfPodsAreAsEver) {
  Tenant tenant;
  tenant.key = tenant.name = "process:1:2";
  Wishes wishes;
  wishes.core_limit = "90";
  const Tenant& joined = node_->join(kStart, core::ClientId{1}, 100, tenant, wishes, effects_);
  pod();
  EXPECT_EQ(joined.standing, Standing::outside);
  EXPECT_EQ(joined.limits.cores().value, 90U);
}

}  // namespace
}  // namespace nvs::daemon
