// SPDX-License-Identifier: Apache-2.0
#include "daemon/pods.h"

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

const std::string kUid = "0a1b2c3d-1111-2222-3333-444455556666";

kube::Pod pod(std::map<std::string, std::string> annotations = {}) {
  return {kUid, "ml", "train", std::move(annotations)};
}

class PodsTest : public testing::Test {
 protected:
  PodsTest() { pods_.begin(); }

  void use(const std::string& slot, const std::string& name) {
    pods_.use_slot({slot, {"ml", name}, "main"});
  }
  std::string reason() const { return pods_.identify(kUid, "GPU-1::0").reason; }

  Pods pods_;
};

TEST_F(PodsTest, WhoIsInNoPodIsOutside) {
  EXPECT_EQ(pods_.identify("", "GPU-1::0").standing, Standing::outside);
}

TEST_F(PodsTest, WhereNobodyAsksEverybodyIsOutside) {
  EXPECT_EQ(Pods().identify(kUid, "GPU-1::0").standing, Standing::outside);
}

TEST_F(PodsTest, BothMustKnowItByTheSameName) {
  EXPECT_EQ(reason(), "the API server has not told of its pod");
  pods_.set_pod(pod());
  EXPECT_EQ(reason(), "the kubelet has not told of its slot");
  use("GPU-1::0", "serve");
  EXPECT_EQ(reason(), "its slot is another pod's");
  EXPECT_EQ(pods_.identify(kUid, "GPU-1::0").standing, Standing::unverified);
  use("GPU-1::0", "train");
  const PodIdentity identity = pods_.identify(kUid, "GPU-1::0");
  EXPECT_EQ(identity.standing, Standing::verified);
  EXPECT_EQ(identity.pod->name, (PodName{"ml", "train"}));
  EXPECT_EQ(identity.use->container, "main");
}

TEST_F(PodsTest, ASlotMayBeTwoPods) {
  pods_.set_pod(pod());
  use("GPU-1::0", "train");
  use("GPU-1::0", "serve");
  EXPECT_EQ(pods_.identify(kUid, "GPU-1::0").standing, Standing::verified);
  pods_.free_slot("GPU-1::0");
  EXPECT_EQ(pods_.slot_count(), 0U);
}

TEST_F(PodsTest, APodOfTheSameNameInAnotherNamespaceIsAnother) {
  pods_.set_pod(pod());
  pods_.use_slot({"GPU-1::0", {"other", "train"}, "main"});
  EXPECT_EQ(reason(), "its slot is another pod's");
}

TEST_F(PodsTest, WhoDoesNotSayItsSlotIsUnverified) {
  pods_.set_pod(pod());
  EXPECT_EQ(pods_.identify(kUid, "").standing, Standing::unverified);
}

TEST_F(PodsTest, WhoIsUnverifiedHasTheLeastThatAContainerOfItsPodAskedFor) {
  const auto asked = [this](const std::string& slot) {
    const PodIdentity identity = pods_.identify(kUid, slot);
    return word_text(identity.memory) + " " + word_text(identity.cores);
  };
  pods_.use_slot({"GPU-1::0", {"ml", "train"}, "a", MemoryWord::of({4096, 0}), CoresWord::of(10)});
  pods_.use_slot({"GPU-1::1", {"ml", "train"}, "b", MemoryWord::of({1024, 0}), CoresWord::of(30)});
  pods_.use_slot({"GPU-1::2", {"ml", "train"}, "c"});
  pods_.use_slot({"GPU-1::3", {"ml", "aaa"}, "d", MemoryWord::of({1, 0}), CoresWord::of(1)});
  pods_.use_slot({"GPU-1::3", {"ml", "zzz"}, "d", MemoryWord::of({1, 0}), CoresWord::of(1)});
  EXPECT_EQ(asked("GPU-1::999"), "default default") << "nobody knows its pod";
  pods_.set_pod(pod());
  for (const char* wrong : {"", "GPU-1::3", "GPU-1::999"}) {
    EXPECT_EQ(pods_.identify(kUid, wrong).standing, Standing::unverified);
    EXPECT_EQ(asked(wrong), "1Ki 10") << wrong;
  }
  EXPECT_EQ(asked("GPU-1::0"), "4Ki 10") << "who is verified has its own";
  EXPECT_EQ(asked("GPU-1::2"), "default default");
  pods_.free_slot("GPU-1::1");
  EXPECT_EQ(asked(""), "4Ki 10");
  pods_.begin_slots();
  pods_.use_slot({"GPU-1::2", {"ml", "train"}, "c", {}, CoresWord::of(90)});
  pods_.end_slots();
  EXPECT_EQ(asked(""), "default 90");
}

TEST_F(PodsTest, APodFromAFileIsKnownByTheUidThatItHasOnItsNode) {
  const std::string hash = "0123456789abcdef0123456789abcdef";
  const auto picture = [&](const std::string& uid, const std::string& name) {
    pods_.set_pod({uid, "ml", name, {}, hash});
  };
  const auto identity = [&] { return pods_.identify(hash, "GPU-1::0"); };
  picture("b", "train");
  EXPECT_EQ(identity().standing, Standing::unverified);
  EXPECT_EQ(identity().pod, nullptr) << "anybody can have made it up";
  EXPECT_EQ(pods_.identify(hash, "").pod, nullptr);
  use("GPU-1::0", "train");
  EXPECT_EQ(identity().standing, Standing::verified);
  picture("a", "evil");
  picture("c", "evil-too");
  EXPECT_EQ(identity().standing, Standing::verified);
  EXPECT_EQ(identity().pod->name.name, "train") << "the kubelet runs no pod of the others' names";
  pods_.remove_pod("b");
  EXPECT_EQ(identity().standing, Standing::unverified);
  EXPECT_STREQ(identity().reason, "its slot is another pod's");
  EXPECT_EQ(identity().pod, nullptr);
}

TEST_F(PodsTest, NobodyIsTakenForAPodByAPictureOfIt) {
  pods_.set_pod(pod({{"nvshare.com/gpu-core-limit", "30"}}));
  pods_.set_pod({"a", "evil", "evil", {{"nvshare.com/gpu-core-limit", "1"}}, kUid});
  EXPECT_EQ(word_text(pods_.identify(kUid, "").pod->cores), "30");
  pods_.use_slot({"GPU-1::0", {"evil", "evil"}, "main", {}, CoresWord::of(1)});
  EXPECT_EQ(reason(), "its slot is another pod's");
  EXPECT_TRUE(pods_.identify(kUid, "GPU-1::0").cores.is_unset());
}

TEST_F(PodsTest, APodThatIsGoneIsNotBelieved) {
  pods_.set_pod(pod());
  use("GPU-1::0", "train");
  pods_.remove_pod(kUid);
  EXPECT_EQ(reason(), "the API server has not told of its pod");
}

TEST_F(PodsTest, AWholeListReplacesWhatWasThere) {
  pods_.set_pod(pod());
  use("GPU-1::0", "train");
  use("GPU-1::1", "train");
  pods_.begin_slots();
  EXPECT_EQ(pods_.identify(kUid, "GPU-1::0").standing, Standing::verified) << "until it is whole";
  use("GPU-1::1", "train");
  pods_.end_slots();
  EXPECT_EQ(reason(), "the kubelet has not told of its slot");
  EXPECT_EQ(pods_.identify(kUid, "GPU-1::1").standing, Standing::verified);
  EXPECT_EQ(pods_.slot_count(), 1U);
}

TEST_F(PodsTest, SingleSlotsComeAndGo) {
  pods_.set_pod(pod());
  use("GPU-1::0", "train");
  pods_.free_slot("GPU-1::0");
  EXPECT_EQ(reason(), "the kubelet has not told of its slot");
}

TEST_F(PodsTest, SlotsAreBounded) {
  for (std::size_t i = 0; i < kSlotsMax + 10; ++i) use("slot" + std::to_string(i), "train");
  EXPECT_EQ(pods_.slot_count(), kSlotsMax);
  use("slot0", "train");
  EXPECT_EQ(pods_.slot_count(), kSlotsMax) << "one that is known can come again";
}

TEST_F(PodsTest, AnAnnotationThatIsNotUnderstoodLeavesTheLimit) {
  pods_.set_pod(pod({{"nvshare.com/gpu-memory-limit", "4Gi"}}));
  const KnownPod& known = pods_.set_pod(
      pod({{"nvshare.com/gpu-memory-limit", "4 elephants"}, {"nvshare.com/gpu-core-limit", "30"}}));
  EXPECT_EQ(word_text(known.memory), "4Gi");
  EXPECT_EQ(word_text(known.cores), "30");
  ASSERT_EQ(known.errors.size(), 1U);
  EXPECT_NE(known.errors[0].find("4 elephants"), std::string::npos) << known.errors[0];
  EXPECT_TRUE(pods_.set_pod(pod()).memory.is_unset()) << "one that is removed is no limit";
  EXPECT_TRUE(pods_.set_pod(pod()).errors.empty());
}

TEST_F(PodsTest, WhatTheNextDaemonWantsToKnowIsKept) {
  const auto kept = [this] { return pods_.saved().size(); };
  pods_.set_pod(pod());
  EXPECT_EQ(kept(), 0U) << "it has neither limits nor a slot";
  use("GPU-1::0", "serve");
  EXPECT_EQ(kept(), 0U);
  use("GPU-1::1", "train");
  EXPECT_EQ(kept(), 1U);
  pods_.free_slot("GPU-1::1");
  EXPECT_EQ(kept(), 0U);
  pods_.set_pod(pod({{"nvshare.com/gpu-core-limit", "30"}}));
  EXPECT_EQ(kept(), 1U);

  Pods next;
  next.begin();
  use("GPU-1::1", "train");
  next.restore(pods_.saved(), pods_.saved_slots());
  const auto identity = [&next] { return next.identify(kUid, "GPU-1::1"); };
  EXPECT_EQ(identity().standing, Standing::verified);
  EXPECT_EQ(word_text(identity().pod->cores), "30");
  next.begin_slots();
  EXPECT_EQ(identity().standing, Standing::verified) << "until the list is whole";
  next.end_slots();
  EXPECT_EQ(identity().standing, Standing::unverified);
  EXPECT_EQ(next.saved_slots(), SavedSlots{});
}

TEST_F(PodsTest, OfSlotsNoMoreAreKeptThanTheNextDaemonReads) {
  const std::string too_long(kPodNameMax + 1, 'a');
  for (const std::string& bad : {std::string(), too_long}) {
    pods_.use_slot({bad, {"ml", "train"}, "main"});
    pods_.use_slot({"a", {bad, "train"}, "main"});
    pods_.use_slot({"a", {"ml", bad}, "main"});
    pods_.use_slot({"a", {"ml", "train"}, bad});
    EXPECT_EQ(pods_.saved_slots(), SavedSlots{});
  }
  for (std::size_t i = 0; i < kSavedSlotsMax; ++i) use("slot" + std::to_string(i), "train");
  EXPECT_EQ(pods_.saved_slots().size(), kSavedSlotsMax);
  use("one too many", "train");
  EXPECT_EQ(pods_.saved_slots().size(), kSavedSlotsMax);
}

TEST_F(PodsTest, WhatTheNextDaemonCouldNotReadIsNotKept) {
  const std::string too_long(kPodNameMax + 1, 'a');
  const std::map<std::string, std::string> limit = {{"nvshare.com/gpu-core-limit", "30"}};
  for (const std::string& bad : {std::string(), too_long}) {
    pods_.set_pod({bad, "ml", "train", limit});
    pods_.set_pod({"a", bad, "train", limit});
    pods_.set_pod({"b", "ml", bad, limit});
    EXPECT_EQ(pods_.saved(), SavedPods{});
  }
  pods_.set_pod({"c", "ml", "train", limit, too_long});
  EXPECT_EQ(pods_.saved(), SavedPods{});
  pods_.set_pod({"d", "ml", "train", limit});
  EXPECT_EQ(pods_.saved().size(), 1U);
}

}  // namespace
}  // namespace nvs::daemon
