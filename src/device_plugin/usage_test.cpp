// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/usage.h"

#include <gtest/gtest.h>

#include "device_plugin/test_gpus.h"

namespace nvs::plugin {
namespace {

using Counts = std::vector<unsigned>;

class UsageTest : public ::testing::Test {
 protected:
  static std::string slot(unsigned gpu, unsigned number) {
    return test_uuid(gpu) + "::" + std::to_string(number);
  }
  static Instant at(int second) { return Instant::from_ns(0) + Duration::from_s(second); }
  // All that is free but for these.
  std::vector<std::string> without(const std::set<std::string>& taken) const {
    std::vector<std::string> free;
    for (const OfferedDevice& device : inventory_.resources[0].devices) {
      if (!taken.contains(device.id)) free.push_back(device.id);
    }
    return free;
  }
  static std::set<PodDevice> of(const std::vector<std::string>& ids,
                                const std::string& resource = kOwnResource) {
    std::set<PodDevice> devices;
    for (const std::string& id : ids) devices.insert({resource, id});
    return devices;
  }
  Inventory inventory_ = *make_inventory(test_gpus(2), Config{});
  Usage usage_;
};

TEST_F(UsageTest, WithoutAListTheKubeletsWordCounts) {
  EXPECT_EQ(usage_.counts(at(0), inventory_, kOwnResource, without({slot(0, 1), slot(0, 2)})),
            (Counts{2, 0}));
}

TEST_F(UsageTest, WhatIsInNoPodIsNotInUse) {
  usage_.listed(at(0), of({slot(1, 4)}));
  // The kubelet keeps slot 0/1 back, perhaps because the GPU was unhealthy: nothing runs there.
  EXPECT_EQ(usage_.counts(at(1), inventory_, kOwnResource, without({slot(0, 1), slot(1, 4)})),
            (Counts{0, 1}));
}

TEST_F(UsageTest, WhatTheKubeletCanGiveAwayIsNotInUse) {
  usage_.listed(at(0), of({slot(1, 4), slot(1, 5)}));
  EXPECT_EQ(usage_.counts(at(1), inventory_, kOwnResource, without({slot(1, 5)})), (Counts{0, 1}));
}

TEST_F(UsageTest, WhatWasAllocatedSinceTheListCounts) {
  usage_.listed(at(0), of({}));
  usage_.allocated(at(1), kOwnResource, {slot(0, 3)});
  EXPECT_EQ(usage_.counts(at(2), inventory_, kOwnResource, without({slot(0, 3)})), (Counts{1, 0}));
  // A list that was asked for at once may have been made before.
  usage_.listed(at(3), of({}));
  EXPECT_EQ(usage_.counts(at(3), inventory_, kOwnResource, without({slot(0, 3)})), (Counts{1, 0}));
  usage_.listed(at(12), of({}));
  EXPECT_EQ(usage_.counts(at(12), inventory_, kOwnResource, without({})), (Counts{0, 0}));
}

TEST_F(UsageTest, WhatAnInitContainerHasIsInUseAsLongAsTheKubeletKeepsItBack) {
  usage_.listed(at(0), of({}));
  usage_.allocated(at(1), kOwnResource, {slot(0, 3), slot(0, 4)});
  // The next container of the pod has one of them, and that one alone is ever listed.
  for (const int second : {5, 12, 20, 30}) {
    usage_.listed(at(second), of({slot(0, 4)}));
    EXPECT_EQ(
        usage_.counts(at(second), inventory_, kOwnResource, without({slot(0, 3), slot(0, 4)})),
        (Counts{2, 0}));
  }
  // Of another resource the kubelet says nothing here.
  EXPECT_EQ(usage_.counts(at(30), inventory_, "other", {}), (Counts{1, 0}));
  usage_.listed(at(40), of({}));
  EXPECT_EQ(usage_.counts(at(40), inventory_, kOwnResource, without({})), (Counts{0, 0}));
}

TEST_F(UsageTest, AKubeletThatHasJustComeListsTooFew) {
  usage_.listed(at(1), {{kOwnResource, slot(0, 1)}});
  usage_.kubelet_came(at(2));
  usage_.listed(at(3), {});
  EXPECT_EQ(usage_.counts(at(4), inventory_, kOwnResource, without({slot(0, 1), slot(1, 4)})),
            (Counts{1, 1}));
  EXPECT_FALSE(usage_.all_are_ours(at(4)));
  usage_.listed(at(70), {});
  EXPECT_EQ(usage_.counts(at(71), inventory_, kOwnResource, without({slot(0, 1)})), (Counts{0, 0}));
}

TEST_F(UsageTest, PodsOfEarlierSettingsStillRun) {
  usage_.listed(at(0),
                of({slot(0, 77), slot(0, 2), test_uuid(0) + "::m3", "GPU-gone::1", "fpga0"}));
  EXPECT_EQ(usage_.counts(at(1), inventory_, kOwnResource, without({slot(0, 2)})), (Counts{2, 0}));
}

TEST_F(UsageTest, ADeviceOfAnotherResourceIsInUseThoughItsIdIsFree) {
  usage_.listed(at(0), of({slot(1, 0), slot(1, 1)}, "nvidia.com/gpu"));
  EXPECT_EQ(usage_.counts(at(1), inventory_, kOwnResource, without({})), (Counts{0, 2}));
}

TEST_F(UsageTest, AnOldListIsNone) {
  usage_.listed(at(0), of({}));
  EXPECT_EQ(usage_.counts(at(60), inventory_, kOwnResource, without({slot(0, 1)})), (Counts{0, 0}));
  EXPECT_EQ(usage_.counts(at(61), inventory_, kOwnResource, without({slot(0, 1)})), (Counts{1, 0}));
}

TEST_F(UsageTest, KnowsWhenAllSlotsAreItsOwn) {
  EXPECT_FALSE(usage_.all_are_ours(at(0)));
  usage_.listed(at(0), of({slot(0, 1)}));
  EXPECT_FALSE(usage_.all_are_ours(at(0)));
  usage_.allocated(at(1), kOwnResource, {slot(0, 2)});
  usage_.listed(at(2), of({slot(0, 2), test_uuid(0) + "::m3", "fpga0"}));
  EXPECT_TRUE(usage_.all_are_ours(at(2)));
  // Given back, and then in use again without us: another plugin was at work.
  usage_.listed(at(20), of({}));
  usage_.listed(at(21), of({slot(0, 2)}));
  EXPECT_FALSE(usage_.all_are_ours(at(21)));
}

}  // namespace
}  // namespace nvs::plugin
