// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/inventory.h"

#include <set>

#include <gtest/gtest.h>

#include "device_plugin/resource_name.h"
#include "device_plugin/test_gpus.h"

namespace nvs::plugin {
namespace {

OfferedGpu instance(const std::string& uuid, const std::string& profile) {
  OfferedGpu gpu = test_gpu(7);
  gpu.uuid = uuid;
  gpu.mig_profile = profile;
  return gpu;
}

TEST(DeviceIds, AreReadAsTheyAreWritten) {
  const std::vector<DeviceId> ids = {{test_uuid(1), DeviceKind::slot, 3},
                                     {"MIG-x", DeviceKind::memory, 0},
                                     {test_uuid(2), DeviceKind::core, 99}};
  for (const DeviceId& id : ids) EXPECT_EQ(parse_device_id(text_of(id)), id);
  EXPECT_EQ(text_of(ids[0]), test_uuid(1) + "::3");
  for (const char* bad : {"", "GPU-x", "::3", "GPU-x::", "GPU-x::3a", "GPU-x::mm1", "GPU-x::-1"}) {
    EXPECT_FALSE(parse_device_id(bad)) << bad;
  }
  EXPECT_EQ(cdi_name("GPU-x::3"), "GPU-x_3");
}

TEST(Inventories, EachGpuIsSoManyDevices) {
  const auto inventory = make_inventory(test_gpus(8), Config{});
  ASSERT_TRUE(inventory);
  ASSERT_EQ(inventory->resources.size(), 1U);
  EXPECT_EQ(inventory->resources[0].name, "nvshare.com/gpu");
  EXPECT_EQ(inventory->resources[0].devices.size(), 80U);
  EXPECT_EQ(inventory->resources[0].devices[13].id, test_uuid(1) + "::3");
  EXPECT_EQ(inventory->resources[0].find(test_uuid(1) + "::3")->gpu, 1U);
  EXPECT_EQ(inventory->resources[0].find(test_uuid(1) + "::10"), nullptr);
}

TEST(Inventories, IdsAreUniqueAcrossResourcesAndShortEnough) {
  Config config;
  config.memory.is_offered = config.cores.is_offered = true;
  config.memory.ratio = 1.5;
  const auto inventory = make_inventory(test_gpus(2), config);
  ASSERT_TRUE(inventory);
  ASSERT_EQ(inventory->resources.size(), 3U);
  EXPECT_EQ(inventory->resources[1].devices.size(), 48U);  // 16 GiB each, times 1.5
  EXPECT_EQ(inventory->resources[2].devices.size(), 200U);
  std::set<std::string> ids;
  for (const OfferedResource& resource : inventory->resources) {
    for (const OfferedDevice& device : resource.devices) {
      EXPECT_TRUE(ids.insert(device.id).second) << device.id;
      EXPECT_LE(device.id.size(), kNameMax);
      EXPECT_EQ(parse_device_id(device.id)->kind, resource.kind);
    }
  }
}

TEST(Inventories, MemoryIsNeverPromisedBeyondTheRatio) {
  Config config;
  config.memory.is_offered = true;
  config.memory.unit_bytes = 3 * kGiB;
  const auto inventory = make_inventory(test_gpus(1), config);
  EXPECT_EQ(inventory->resources.at(1).devices.size(), 5U);
  config.memory.unit_bytes = 17 * kGiB;
  const auto none = make_inventory(test_gpus(1), config);
  EXPECT_TRUE(none->resources.at(1).devices.empty());
  EXPECT_EQ(none->remarks.size(), 1U);
}

TEST(Inventories, DeviceFilesThatAreNotKnownAreSaid) {
  Config config;
  std::vector<OfferedGpu> gpus = test_gpus(2);
  gpus[1].device_files.clear();
  EXPECT_TRUE(make_inventory(gpus, config)->remarks.empty());
  config.passes_device_files = true;
  const auto inventory = make_inventory(gpus, config);
  ASSERT_EQ(inventory->remarks.size(), 1U);
  EXPECT_TRUE(inventory->remarks[0].starts_with(test_uuid(1)));
}

TEST(Inventories, MoreThanAKubeletTakesIsRefused) {
  Config config;
  config.memory.is_offered = true;
  config.memory.unit_bytes = std::uint64_t{1} << 18U;
  const auto inventory = make_inventory(test_gpus(1), config);
  ASSERT_FALSE(inventory);
  EXPECT_NE(inventory.error().find("make the unit larger"), std::string::npos);
}

TEST(Inventories, MigInstancesHaveTheNamesThatTheSettingsSay) {
  std::vector<OfferedGpu> gpus = {test_gpu(0), instance("MIG-a", "1g.10gb"),
                                  instance("MIG-b", "2g.20gb")};
  Config config;
  config.resources = {{.name = "nvidia.com/gpu", .replicas = 2},
                      {.name = "nvidia.com/mig-1g.10gb", .replicas = 3, .mig_profile = "1g.10gb"}};
  config.offers_the_rest = true;
  const auto as_gpus = make_inventory(gpus, config);
  EXPECT_EQ(as_gpus->resources.at(0).devices.size(), 6U);
  EXPECT_EQ(as_gpus->remarks.size(), 1U);  // no GPU has the other name

  config.mig_names = MigNames::by_profile;
  const auto by_profile = make_inventory(gpus, config);
  ASSERT_EQ(by_profile->resources.size(), 3U);
  EXPECT_EQ(by_profile->resources[0].devices.size(), 2U);
  EXPECT_EQ(by_profile->resources[1].devices.size(), 3U);
  // What the file does not mention is offered whole.
  EXPECT_EQ(by_profile->resources[2].name, "nvidia.com/mig-2g.20gb");
  EXPECT_EQ(by_profile->resources[2].devices.at(0).id, "MIG-b::0");
  EXPECT_EQ(mig_profile_of("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), "1g.10gb");
  EXPECT_EQ(mig_profile_of("NVIDIA A100-SXM4-40GB MIG 1g.5gb+me"), "1g.5gb.me");
  EXPECT_EQ(mig_profile_of("NVIDIA H200"), "");
}

TEST(Inventories, WhatHasNoNameThatAKubeletTakesIsLeftOutAndSaid) {
  Config config;
  config.resources.clear();
  config.offers_the_rest = true;
  config.mig_names = MigNames::by_profile;
  const auto inventory =
      make_inventory({instance("MIG-a", "1g.5gb of sorts"), instance("MIG-b", "1g.5gb")}, config);
  ASSERT_EQ(inventory->resources.size(), 1U);
  EXPECT_EQ(inventory->resources[0].name, "nvidia.com/mig-1g.5gb");
  ASSERT_EQ(inventory->remarks.size(), 1U);
  EXPECT_NE(inventory->remarks[0].find("MIG-a is not offered"), std::string::npos);
}

}  // namespace
}  // namespace nvs::plugin
