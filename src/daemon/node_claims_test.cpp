// SPDX-License-Identifier: Apache-2.0
// What tenants in pods say of themselves gains them nothing that their pod was not given.
#include <gtest/gtest.h>

#include "daemon/test_node_pods.h"

namespace nvs::daemon {
namespace {

class NodeClaimsTest : public NodePodsTest {};

TEST_F(NodeClaimsTest, WhatAContainerAskedForCountsMoreThanItsEnvironment) {
  pod();
  const SlotUse use{kSlot, {"ml", "train"}, "main", MemoryWord::of({400, 0}), CoresWord::of(30)};
  node_->update_slots(kStart, {false, false, {use}, {}}, effects_);
  const Tenant& tenant = join(1, "90");
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{30, LimitSource::resource}));
  EXPECT_EQ(tenant.limits.memory().source, LimitSource::resource);
  pod({{"nvshare.com/gpu-core-limit", "40"}}, kube::PodChange::Kind::changed);
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{40, LimitSource::annotation}));
}

TEST_F(NodeClaimsTest, WhoHasAnothersSlotGetsWhatTheNodeGives) {
  pod({{"nvshare.com/gpu-core-limit", "90"}});
  slot("serve");
  const Tenant& tenant = join();
  EXPECT_EQ(tenant.standing, Standing::unverified);
  EXPECT_EQ(tenant.standing_reason, "its slot is another pod's");
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{50, LimitSource::defaults}));
  EXPECT_NE(node_->status(kStart, {}).find(R"("standing":"unverified")"), std::string::npos);
}

TEST_F(NodeClaimsTest, AWrongSlotLiftsNoLimit) {
  pod();
  const SlotUse use{kSlot, {"ml", "train"}, "main", MemoryWord::of({400, 0}), CoresWord::of(30)};
  node_->update_slots(kStart, {false, false, {use}, {}}, effects_);
  const Tenant& tenant = join(1, "90", "GPU-1::999");
  const EffectiveLimit<std::uint32_t> asked{30, LimitSource::resource};
  EXPECT_EQ(tenant.standing, Standing::unverified);
  EXPECT_EQ(tenant.limits.cores(), asked) << "its environment has no say";
  EXPECT_EQ(tenant.limits.memory().value, (MemoryAmount{400, 0}));
  pod({{"nvshare.com/gpu-core-limit", "40"}}, kube::PodChange::Kind::changed);
  EXPECT_EQ(tenant.limits.cores(), asked) << "nor have its annotations until it is verified";
  node_->update_slots(kStart, {true, true, {}, {}}, effects_);
  EXPECT_EQ(tenant.limits.memory().value, std::nullopt) << "its pod has no slot any more";
}

TEST_F(NodeClaimsTest, NoTwoContainersAreTakenForTheSame) {
  pod();
  const PodName name{"ml", "train"};
  const SlotUse large{"GPU-1::0", name, "large", {}, CoresWord::of(80)};
  const SlotUse large_too{"GPU-2::0", name, "large", {}, CoresWord::of(80)};  // it has two GPUs
  const SlotUse small{"GPU-1::1", name, "small", {}, CoresWord::of(10)};
  node_->update_slots(kStart, {true, true, {large, large_too, small}, {}}, effects_);
  const auto come = [this](std::uint64_t client, const std::string& slot) -> const Tenant& {
    Tenant tenant;
    tenant.key = "container:/kubepods/" + std::to_string(client);
    tenant.pod_uid = kUid;
    tenant.slot = slot;
    return node_->join(kStart, core::ClientId{client}, 100, tenant, {}, effects_);
  };
  EXPECT_EQ(come(1, "GPU-1::0").limits.cores().value, 80U);
  const Tenant& second = come(2, "GPU-1::0");
  EXPECT_EQ(second.standing_reason, "another container of its pod has its slot");
  EXPECT_EQ(second.limits.cores().value, 10U);
  EXPECT_EQ(come(3, "GPU-2::0").limits.cores().value, 10U) << "by another slot of the same one";
  EXPECT_EQ(come(4, "GPU-1::1").standing, Standing::verified);
  pod({}, kube::PodChange::Kind::changed);
  EXPECT_EQ(second.standing, Standing::unverified) << "however often it is looked at";
  node_->leave(kStart, core::ClientId{3}, effects_);
  EXPECT_EQ(second.standing, Standing::unverified);
  node_->leave(kStart, core::ClientId{1}, effects_);
  EXPECT_EQ(second.standing, Standing::verified) << "it may have been started anew";
  EXPECT_EQ(second.limits.cores().value, 80U);
  EXPECT_EQ(come(5, "GPU-1::0").limits.cores().value, 10U);
}

TEST_F(NodeClaimsTest, ALaterProcessMaySayTheSlot) {
  pod({{"nvshare.com/gpu-core-limit", "20"}});
  slot();
  Tenant without;
  without.key = "container:/kubepods/a";
  without.pod_uid = kUid;
  const Tenant& tenant = node_->join(kStart, core::ClientId{7}, 99, without, {}, effects_);
  EXPECT_EQ(tenant.standing, Standing::unverified);
  join();
  EXPECT_EQ(tenant.standing, Standing::verified);
}

class NodePodPriorityTest : public NodePodsTest {
 protected:
  // What is in force for one that asks for it, and what it asked for.
  std::string priorities(core::Priority asked, const std::string& uid) {
    Tenant tenant;
    tenant.key = "container:/" + std::to_string(++clients_);
    tenant.pod_uid = uid;
    Wishes wishes;
    wishes.priority = asked;
    const core::ClientId client{clients_};
    node_->join(kStart, client, 100, tenant, wishes, effects_);
    const std::string status = node_->status(kStart, {});
    node_->leave(kStart, client, effects_);
    const std::size_t from = status.find(R"("priority":)");
    return status.substr(from, status.find(R"(,"weight")") - from);
  }

  std::uint64_t clients_ = 0;
};

TEST_F(NodePodPriorityTest, APodHasNoHigherOneThanPodsMayAskFor) {
  using core::Priority;
  EXPECT_EQ(priorities(Priority::high, kUid), R"("priority":"normal","priority_asked":"high")");
  EXPECT_EQ(priorities(Priority::low, kUid), R"("priority":"low","priority_asked":"low")");
  EXPECT_EQ(priorities(Priority::high, ""), R"("priority":"high","priority_asked":"high")")
      << "it is in no pod";
  options_.pod_priority = Priority::high;
  start();
  EXPECT_EQ(priorities(Priority::high, kUid), R"("priority":"high","priority_asked":"high")");
  options_.pod_priority = Priority::low;
  start();
  EXPECT_EQ(priorities(Priority::normal, kUid), R"("priority":"low","priority_asked":"normal")");
}

TEST_F(NodePodPriorityTest, AnAdministratorMayGiveAnyAndItStays) {
  const Tenant& tenant = join();
  const auto is_high = [this] {
    return node_->status(kStart, {}).find(R"("priority":"high")") != std::string::npos;
  };
  EXPECT_FALSE(is_high());
  node_->set_priority(kStart, tenant.id, core::Priority::high, effects_);
  EXPECT_TRUE(is_high());
  node_->leave(kStart, core::ClientId{1}, effects_);
  start();
  join();
  EXPECT_TRUE(is_high()) << "over a restart too";
}

}  // namespace
}  // namespace nvs::daemon
