// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_store.h"

#include <gtest/gtest.h>

#include "kube/limits.h"

namespace nvs::kube {
namespace {

Pod pod(const std::string& uid, const std::string& limit = "") {
  Pod made{uid, "lab", "pod-" + uid, {}};
  if (!limit.empty()) made.annotations["nvshare.com/gpu-memory-limit"] = limit;
  return made;
}

class PodStoreTest : public ::testing::Test {
 protected:
  using Kind = PodEvent::Kind;

  // What has changed: "+a" added, "~a" changed, "-a" removed.
  std::string apply(Kind kind, const Pod& made) {
    std::vector<PodChange> changes;
    store_.apply({kind, made, "1"}, changes);
    return text_of(changes);
  }
  std::string replace(std::vector<Pod> pods) {
    std::vector<PodChange> changes;
    store_.replace(std::move(pods), changes);
    return text_of(changes);
  }
  std::string text_of(const std::vector<PodChange>& changes) {
    std::string text;
    for (const PodChange& change : changes) {
      text += "+~-"[static_cast<int>(change.kind)];
      text += change.pod.uid;
    }
    return text;
  }

  PodStore store_;
};

TEST_F(PodStoreTest, EventsAreNewsIfAnythingIsDifferent) {
  EXPECT_EQ(apply(Kind::added, pod("a")), "+a");
  EXPECT_EQ(apply(Kind::modified, pod("a")), "") << "only its status changed";
  EXPECT_EQ(apply(Kind::modified, pod("a", "4Gi")), "~a");
  EXPECT_EQ(apply(Kind::modified, pod("a", "4Gi")), "");
  EXPECT_EQ(apply(Kind::modified, pod("a")), "~a") << "the annotation was taken away";
  EXPECT_EQ(apply(Kind::deleted, pod("a")), "-a");
  EXPECT_EQ(apply(Kind::deleted, pod("a")), "");
  EXPECT_EQ(store_.size(), 0U);
}

TEST_F(PodStoreTest, TheTypeOfAnEventDoesNotMatter) {
  EXPECT_EQ(apply(Kind::modified, pod("a")), "+a");
  EXPECT_EQ(apply(Kind::added, pod("a", "1Gi")), "~a");
  EXPECT_EQ(apply(Kind::added, pod("a", "1Gi")), "");
}

TEST_F(PodStoreTest, ARemovedPodIsAsItWasLast) {
  apply(Kind::added, pod("a", "4Gi"));
  std::vector<PodChange> changes;
  store_.apply({Kind::deleted, pod("a"), "2"}, changes);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0], (PodChange{PodChange::Kind::removed, pod("a", "4Gi")}));
}

TEST_F(PodStoreTest, TheSameNameAgainIsAnotherPod) {
  Pod second = pod("b");
  second.name = "pod-a";
  apply(Kind::added, pod("a"));
  EXPECT_EQ(apply(Kind::added, second), "+b");
  EXPECT_EQ(apply(Kind::deleted, pod("a")), "-a");
  EXPECT_EQ(store_.size(), 1U);
}

TEST_F(PodStoreTest, ANewListIsComparedWithWhatIsKnown) {
  EXPECT_EQ(replace({pod("a"), pod("b", "1Gi"), pod("c")}), "+a+b+c");
  EXPECT_EQ(replace({pod("a"), pod("b", "1Gi"), pod("c")}), "");
  EXPECT_EQ(replace({pod("d"), pod("b", "2Gi"), pod("c")}), "-a+d~b");
  EXPECT_EQ(replace({}), "-b-c-d");
}

TEST_F(PodStoreTest, APodThatIsListedTwiceIsOne) { EXPECT_EQ(replace({pod("a"), pod("a")}), "+a"); }

TEST_F(PodStoreTest, ThereAreOnlySoManyPods) {
  std::vector<Pod> pods;
  for (std::size_t i = 0; i <= kPodsMax; ++i) pods.push_back(pod(std::to_string(i)));
  replace(pods);
  EXPECT_EQ(store_.size(), kPodsMax);
  EXPECT_TRUE(store_.is_full());
  EXPECT_EQ(apply(Kind::modified, pod("0", "1Gi")), "~0") << "who is known stays known";
  replace({pod("a")});
  EXPECT_FALSE(store_.is_full());
}

}  // namespace
}  // namespace nvs::kube
