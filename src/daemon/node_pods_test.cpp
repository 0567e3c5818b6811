// SPDX-License-Identifier: Apache-2.0
// What the API server and the kubelet say reaches tenants, whoever comes first.
#include <memory>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "daemon/node.h"

namespace nvs::daemon {
namespace {

const std::string kUid = "0a1b2c3d-1111-2222-3333-444455556666";
const std::string kHash = "0123456789abcdef0123456789abcdef";
const std::string kSlot = "GPU-1::0";

class NodePodsTest : public ::testing::Test {
 protected:
  static constexpr Instant kStart = Instant::from_ns(1'000'000'000'000);
  // Whoever an earlier daemon served is back by then.
  static constexpr Instant kAllBack = kStart + kReadoption + Duration::from_ns(1);
  static constexpr core::GpuId kGpu{0};
  using Annotations = std::map<std::string, std::string>;

  NodePodsTest() {
    options_.folder = folder_.path();
    options_.limits.say(LimitSource::defaults, CoresWord::of(50));
    start();
  }

  // A daemon that knows what is in the folder.
  void start() {
    std::string remark;
    node_ = std::make_unique<Node>(options_, load_state(folder_.path(), remark).value(), kStart);
    EXPECT_EQ(remark, "");
    Gpu gpu = unknown_gpu({1});
    gpu.memory_bytes = 1000;
    node_->add_gpu(kStart, gpu, Node::Origin::found, effects_);
    node_->watch_pods();
  }

  const Tenant& join(int client = 1, const std::string& cores = "",
                     const std::string& slot = kSlot) {
    Tenant tenant;
    tenant.key = "container:/kubepods/a";
    tenant.name = "python3";
    tenant.pod_uid = kUid;
    tenant.slot = slot;
    Wishes wishes;
    wishes.core_limit = cores;
    return node_->join(kStart, core::ClientId{static_cast<std::uint64_t>(client)}, 100, tenant,
                       wishes, effects_);
  }
  void pod(const Annotations& annotations, kube::PodChange::Kind kind) {
    list({{kind, {kUid, "ml", "train", annotations}}});
  }
  // The API server has been reached, and this is different.
  void list(const std::vector<kube::PodChange>& changes, Instant now = kStart) {
    kube::Health health;
    health.has_listed = true;
    node_->update_pods(now, {changes, health, {}}, effects_);
  }
  void pod(const Annotations& annotations = {}) { pod(annotations, kube::PodChange::Kind::added); }
  void slot(const std::string& name = "train") {
    node_->update_slots(kStart, {false, false, {{kSlot, {"ml", name}, "main"}}, {}}, effects_);
  }
  // Of a pod that its node has from a file, as the API server has it.
  static kube::Pod picture(const std::string& uid, const std::string& cores,
                           const std::string& name = "train") {
    return {uid, "ml", name, {{"nvshare.com/gpu-core-limit", cores}}, kHash};
  }
  const Tenant& join_from_file(std::uint64_t client = 1) {
    Tenant tenant;
    tenant.key = "container:/kubepods/a";
    tenant.pod_uid = kHash;
    tenant.slot = kSlot;
    return node_->join(kStart, core::ClientId{client}, 100, tenant, {}, effects_);
  }
  std::size_t pod_count() const {
    const std::string status = node_->status(kStart, {});
    const std::string key = R"("pods":)";
    return std::stoul(status.substr(status.find(key) + key.size()));
  }

  TestFolder folder_;
  Options options_;
  Effects effects_;
  std::unique_ptr<Node> node_;
};

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

TEST_F(NodePodsTest, WhatAContainerAskedForCountsMoreThanItsEnvironment) {
  pod();
  const SlotUse use{kSlot, {"ml", "train"}, "main", MemoryWord::of({400, 0}), CoresWord::of(30)};
  node_->update_slots(kStart, {false, false, {use}, {}}, effects_);
  const Tenant& tenant = join(1, "90");
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{30, LimitSource::resource}));
  EXPECT_EQ(tenant.limits.memory().source, LimitSource::resource);
  pod({{"nvshare.com/gpu-core-limit", "40"}}, kube::PodChange::Kind::changed);
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{40, LimitSource::annotation}));
}

TEST_F(NodePodsTest, AWrongSlotLiftsNoLimit) {
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

TEST_F(NodePodsTest, WhoHasAnothersSlotGetsWhatTheNodeGives) {
  pod({{"nvshare.com/gpu-core-limit", "90"}});
  slot("serve");
  const Tenant& tenant = join();
  EXPECT_EQ(tenant.standing, Standing::unverified);
  EXPECT_EQ(tenant.standing_reason, "its slot is another pod's");
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{50, LimitSource::defaults}));
  EXPECT_NE(node_->status(kStart, {}).find(R"("standing":"unverified")"), std::string::npos);
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

TEST_F(NodePodsTest, ALaterProcessMaySayTheSlot) {
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
