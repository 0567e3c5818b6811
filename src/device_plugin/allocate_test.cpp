// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/allocate.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "device_plugin/cdi_spec.h"
#include "device_plugin/test_gpus.h"

namespace nvs::plugin {
namespace {

using Envs = std::map<std::string, std::string>;

class AllocateTest : public ::testing::Test {
 protected:
  ContainerAnswer give(const std::vector<std::string>& ids, std::size_t resource = 0) {
    const Inventory inventory = *make_inventory(gpus_, config_);
    auto answer = allocate(ids, inventory.resources.at(resource), inventory, config_, host_);
    EXPECT_TRUE(answer) << answer.error().text;
    return answer.value_or(ContainerAnswer{});
  }
  AllocateError refuse(const std::vector<std::string>& ids) {
    const Inventory inventory = *make_inventory(gpus_, config_);
    const auto answer = allocate(ids, inventory.resources.at(0), inventory, config_, host_);
    EXPECT_FALSE(answer);
    return answer.error();
  }

  std::string first_ = test_uuid(0) + "::3";
  std::string same_gpu_ = test_uuid(0) + "::4";
  std::string second_ = test_uuid(1) + "::0";
  std::vector<OfferedGpu> gpus_ = test_gpus(2);
  Config config_;
  HostPaths host_{.library = "/host/lib/1/libnvshare.so",
                  .preload = "/host/lib/1/ld.so.preload",
                  .tenant_folder = "/run/nvshare/tenant"};
  std::vector<Mount> mounts_ = {{"/usr/lib/nvshare/libnvshare.so", "/host/lib/1/libnvshare.so"},
                                {"/etc/ld.so.preload", "/host/lib/1/ld.so.preload"},
                                {"/var/run/nvshare/tenant", "/run/nvshare/tenant"}};
};

TEST_F(AllocateTest, AContainerGetsGpuLibraryDaemonAndSlot) {
  const ContainerAnswer answer = give({first_});
  EXPECT_EQ(answer.envs,
            (Envs{{"NVIDIA_VISIBLE_DEVICES", test_uuid(0)}, {"NVSHARE_SLOT", first_}}));
  EXPECT_EQ(answer.mounts, mounts_);
  EXPECT_TRUE(answer.annotations.empty());
  EXPECT_TRUE(answer.cdi_devices.empty());
}

TEST_F(AllocateTest, SeveralSlotsNameEachGpuOnce) {
  const ContainerAnswer answer = give({second_, first_, same_gpu_});
  EXPECT_EQ(answer.envs.at("NVIDIA_VISIBLE_DEVICES"), test_uuid(1) + "," + test_uuid(0));
  EXPECT_EQ(answer.envs.at("NVSHARE_SLOT"), second_ + "," + first_ + "," + same_gpu_);
}

TEST_F(AllocateTest, AnIndexIsNvmlsWhateverIsOffered) {
  config_.device_names = DeviceNames::index;
  EXPECT_EQ(give({second_, first_}).envs.at("NVIDIA_VISIBLE_DEVICES"), "1,0");
  // The first GPU of the node is out of reach, and the next is in parts.
  gpus_[0].index = "1:2";
  gpus_[1].index = "2";
  EXPECT_EQ(give({second_, first_}).envs.at("NVIDIA_VISIBLE_DEVICES"), "2,1:2");
  config_.device_lists = {DeviceList::cdi_annotations};
  EXPECT_EQ(give({first_}).annotations,
            (Envs{{"cdi.k8s.io/nvshare_" + test_uuid(0), "nvidia.com/gpu=1:2"}}));
}

TEST_F(AllocateTest, InjectionByEnvironment) {
  config_.injection = Injection::env;
  const ContainerAnswer answer = give({first_});
  EXPECT_EQ(answer.envs.at("LD_PRELOAD"), "/usr/lib/nvshare/libnvshare.so");
  EXPECT_EQ(answer.mounts, (std::vector<Mount>{mounts_[0], mounts_[2]}));
}

TEST_F(AllocateTest, InjectionByCdi) {
  config_.injection = Injection::cdi_cri;
  ContainerAnswer answer = give({first_, second_});
  EXPECT_TRUE(answer.mounts.empty());
  EXPECT_EQ(answer.envs.count("LD_PRELOAD"), 0U);
  EXPECT_EQ(answer.cdi_devices,
            (std::vector<std::string>{"nvshare.com/gpu=" + test_uuid(0) + "_3",
                                      "nvshare.com/gpu=" + test_uuid(1) + "_0"}));
  config_.device_lists = {DeviceList::cdi_cri};
  answer = give({first_});
  EXPECT_EQ(answer.cdi_devices,
            (std::vector<std::string>{"nvidia.com/gpu=" + test_uuid(0),
                                      "nvshare.com/gpu=" + test_uuid(0) + "_3"}));
  EXPECT_EQ(answer.envs.count("NVIDIA_VISIBLE_DEVICES"), 0U);
}

TEST_F(AllocateTest, DeviceListsAsNvidiasPluginHasThem) {
  config_.device_lists = {DeviceList::volume_mounts};
  ContainerAnswer answer = give({first_});
  EXPECT_EQ(answer.envs.at("NVIDIA_VISIBLE_DEVICES"), "/var/run/nvidia-container-devices");
  EXPECT_EQ(answer.mounts.at(0),
            (Mount{"/var/run/nvidia-container-devices/" + test_uuid(0), "/dev/null"}));
  EXPECT_EQ(answer.mounts.size(), 4U);

  config_.device_lists = {DeviceList::cdi_annotations};
  answer = give({first_, second_});
  EXPECT_EQ(answer.annotations,
            (Envs{{"cdi.k8s.io/nvshare_" + test_uuid(0),
                   "nvidia.com/gpu=" + test_uuid(0) + ",nvidia.com/gpu=" + test_uuid(1)}}));
}

TEST_F(AllocateTest, DeviceFilesAreNamedWhereTheSettingsSaySo) {
  EXPECT_TRUE(give({first_}).devices.empty());
  config_.passes_device_files = true;
  EXPECT_EQ(give({second_, first_, same_gpu_}).devices,
            (std::vector<DeviceFile>{{"/dev/nvidiactl", "/dev/nvidiactl", true},
                                     {"/dev/nvidia-uvm", "/dev/nvidia-uvm", true},
                                     {"/dev/nvidia-uvm-tools", "/dev/nvidia-uvm-tools", true},
                                     {"/dev/nvidia-modeset", "/dev/nvidia-modeset", true},
                                     {"/dev/nvidia1", "/dev/nvidia1", false},
                                     {"/dev/nvidia0", "/dev/nvidia0", false}}));
  config_.device_root = "/run/nvidia/driver/";
  const std::vector<DeviceFile> below = give({first_}).devices;
  ASSERT_EQ(below.size(), 5U);
  EXPECT_EQ(below[4], (DeviceFile{"/dev/nvidia0", "/run/nvidia/driver/dev/nvidia0", false}));
  config_.device_lists = {DeviceList::cdi_annotations, DeviceList::envvar};
  EXPECT_EQ(give({first_}).devices.size(), 5U);
  config_.device_lists = {DeviceList::cdi_annotations, DeviceList::cdi_cri};
  EXPECT_TRUE(give({first_}).devices.empty());
  config_.cores.is_offered = true;
  config_.device_lists = {DeviceList::envvar};
  EXPECT_TRUE(give({test_uuid(0) + "::c1"}, 1).devices.empty());
}

TEST_F(AllocateTest, MemoryAndCoresSetLimitsAndNothingElse) {
  config_.memory.is_offered = config_.cores.is_offered = true;
  ContainerAnswer answer = give({test_uuid(0) + "::m1", test_uuid(1) + "::m0"}, 1);
  EXPECT_EQ(answer.envs, (Envs{{"NVSHARE_GPU_MEMORY_LIMIT", "2Gi"}}));
  EXPECT_TRUE(answer.mounts.empty());
  config_.memory.unit_bytes = kGiB / 2;
  EXPECT_EQ(give({test_uuid(0) + "::m1"}, 1).envs.at("NVSHARE_GPU_MEMORY_LIMIT"), "512Mi");

  std::vector<std::string> cores;
  for (unsigned core = 0; core < 40; ++core) {
    cores.push_back(test_uuid(0) + "::c" + std::to_string(core));
  }
  EXPECT_EQ(give(cores, 2).envs, (Envs{{"NVSHARE_GPU_CORE_LIMIT", "40"}}));
  for (unsigned core = 0; core < 100; ++core) {
    cores.push_back(test_uuid(1) + "::c" + std::to_string(core));
  }
  EXPECT_EQ(give(cores, 2).envs, (Envs{{"NVSHARE_GPU_CORE_LIMIT", "100"}}));
}

TEST_F(AllocateTest, WhatIsNotOursIsRefused) {
  for (const std::string& id :
       {test_uuid(0) + "::10", test_uuid(9) + "::0", test_uuid(0), test_uuid(0) + "::m0"}) {
    const AllocateError error = refuse({first_, id});
    EXPECT_EQ(error.kind, AllocateError::Kind::unknown_device);
    EXPECT_NE(error.text.find(id), std::string::npos);
  }
  EXPECT_EQ(refuse({}).kind, AllocateError::Kind::unknown_device);
}

TEST_F(AllocateTest, MoreThanOneIsRefusedWhereTheSettingsSaySo) {
  config_.fails_requests_greater_than_one = true;
  give({first_});
  const AllocateError error = refuse({first_, second_});
  EXPECT_EQ(error.kind, AllocateError::Kind::too_many);
  EXPECT_NE(error.text.find("asked for 2 nvshare.com/gpu"), std::string::npos);
}

TEST_F(AllocateTest, WholeGpusMayBeSeveralWhateverSharedOnesMayBe) {
  config_.fails_requests_greater_than_one = true;
  config_.resources.at(0).replicas = 1;
  EXPECT_EQ(give({test_uuid(0) + "::0", second_}).envs.at("NVIDIA_VISIBLE_DEVICES"),
            test_uuid(0) + "," + test_uuid(1));
  // NVIDIA's file shares instances of one kind, and the rest is whole.
  gpus_.push_back(test_gpu(2));
  gpus_[2].mig_profile = "1g.10gb";
  config_.resources = {{.name = "nvidia.com/mig-1g.10gb", .replicas = 4, .mig_profile = "1g.10gb"}};
  config_.offers_the_rest = true;
  config_.mig_names = MigNames::by_profile;
  give({test_uuid(0) + "::0", second_}, 1);
  EXPECT_EQ(refuse({test_uuid(2) + "::0", test_uuid(2) + "::1"}).kind,
            AllocateError::Kind::too_many);
}

TEST_F(AllocateTest, TheCdiFileHasTheDevicesThatAreAskedFor) {
  config_.injection = Injection::cdi_cri;
  config_.memory.is_offered = true;
  const Inventory inventory = *make_inventory(test_gpus(2), config_);
  const auto spec = nlohmann::json::parse(cdi_spec_text(inventory, host_, {}, {}));
  EXPECT_EQ(spec.at("cdiVersion"), "0.6.0");
  EXPECT_EQ(spec.at("kind"), "nvshare.com/gpu");
  EXPECT_EQ(spec.at("devices").size(), 20U);
  EXPECT_EQ(spec.at("devices").at(3).at("name"), test_uuid(0) + "_3");
  EXPECT_FALSE(spec.at("devices").at(3).at("containerEdits").empty());
  const auto& mounts = spec.at("containerEdits").at("mounts");
  ASSERT_EQ(mounts.size(), 3U);
  for (std::size_t index = 0; index < mounts.size(); ++index) {
    EXPECT_EQ(mounts[index].at("hostPath"), mounts_[index].host_path);
    EXPECT_EQ(mounts[index].at("containerPath"), mounts_[index].container_path);
    EXPECT_EQ(mounts[index].at("options").at(0), "ro");
  }
  // The loader must be able to map the library; nothing else is code.
  EXPECT_EQ(mounts[0].at("options").size(), 4U);
  EXPECT_EQ(mounts[2].at("options").back(), "noexec");
}

TEST_F(AllocateTest, TheCdiFileKeepsDevicesOfEarlierSettings) {
  config_.resources.at(0).replicas = 2;
  const Inventory inventory = *make_inventory(gpus_, config_);
  const std::string known = test_uuid(0) + "_1";
  const std::string old = test_uuid(0) + "_9";
  // What is no name there makes a runtime refuse the whole file.
  const std::string text =
      cdi_spec_text(inventory, host_, {known}, {known, old, "", "a b", "_1", "a::1"});
  const auto spec = nlohmann::json::parse(text);
  EXPECT_EQ(spec.at("devices").size(), 5U);
  EXPECT_EQ(spec.at("devices").at(4).at("name"), old);
  EXPECT_EQ(spec.at("devices").at(4).at("containerEdits"),
            spec.at("devices").at(0).at("containerEdits"));
  EXPECT_EQ(cdi_names_in(text).size(), 5U);
  EXPECT_TRUE(cdi_names_in(text).contains(old));
  // Written again and again it is the same.
  EXPECT_EQ(cdi_spec_text(inventory, host_, {}, cdi_names_in(text)), text);
  EXPECT_EQ(cdi_spec_text(inventory, host_, {old}, cdi_names_in(text)), text);
}

TEST_F(AllocateTest, TheCdiFileHasRoomForWhatIsHeldBeforeWhatWas) {
  const Inventory inventory = *make_inventory(gpus_, config_);
  std::set<std::string> earlier;
  for (std::size_t i = 0; i < kCdiNamesMax; ++i) earlier.insert("a" + std::to_string(i));
  const auto names = cdi_names_in(cdi_spec_text(inventory, host_, {"z1", "z2"}, earlier));
  EXPECT_EQ(names.size(), kCdiNamesMax);
  EXPECT_TRUE(names.contains("z1") && names.contains("z2"));
  EXPECT_TRUE(names.contains(test_uuid(0) + "_0"));
}

TEST_F(AllocateTest, WhatIsNoCdiFileOfOursHasNoDevices) {
  for (const char* text :
       {"", "{", "[]", "3", "{}", R"({"kind": "nvshare.com/gpu"})", R"({"kind": 3, "devices": []})",
        R"({"kind": "nvshare.com/gpu", "devices": {"name": "a"}})",
        R"({"kind": "nvshare.com/gpu", "devices": [3, {}, {"name": 3}]})",
        R"({"kind": "nvidia.com/gpu", "devices": [{"name": "0"}]})"}) {
    EXPECT_TRUE(cdi_names_in(text).empty()) << text;
  }
}

}  // namespace
}  // namespace nvs::plugin
