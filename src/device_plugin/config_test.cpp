// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/config.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "device_plugin/config_choice.h"
#include "device_plugin/resource_name.h"

namespace nvs::plugin {
namespace {

Config good_config(const std::string& text) {
  auto config = parse_config(text, "config.yaml");
  EXPECT_TRUE(config) << config.error();
  return config.value_or(Config{});
}

std::string complaint_about(const std::string& text) {
  const auto config = parse_config(text, "config.yaml");
  return config ? "it was accepted" : config.error();
}

constexpr const char* kTutorial = R"(version: v1
flags:
  migStrategy: "none"
  failOnInitError: true
  nvidiaDriverRoot: "/"
  plugin:
    passDeviceSpecs: false
    deviceListStrategy: envvar
    deviceIDStrategy: uuid
  gfd:
    oneshot: false
sharing:
  timeSlicing:
    renameByDefault: false
    failRequestsGreaterThanOne: true
    resources:
    - name: nvidia.com/gpu
      replicas: 10
)";

TEST(NvidiaConfig, AFileIsAcceptedAsItIs) {
  const Config config = good_config(kTutorial);
  ASSERT_EQ(config.resources.size(), 1U);
  EXPECT_EQ(config.resources[0], (SharedResource{.name = "nvidia.com/gpu", .replicas = 10}));
  EXPECT_TRUE(config.fails_requests_greater_than_one);
  EXPECT_TRUE(config.offers_the_rest);
  EXPECT_EQ(config.injection, Injection::ld_so_preload);
  // What has no effect is said, with its line; what is false is not worth a word.
  ASSERT_EQ(config.warnings.size(), 2U);
  EXPECT_EQ(config.warnings[0], "config.yaml:5: flags.nvidiaDriverRoot has no effect here");
  EXPECT_EQ(config.warnings[1], "config.yaml:11: flags.gfd has no effect here");
}

TEST(NvidiaConfig, DeviceFilesCanBePassed) {
  EXPECT_FALSE(good_config(kTutorial).passes_device_files);
  const std::string plugin = "  plugin: {passDeviceSpecs: true}\n";
  Config config = good_config("flags:\n" + plugin);
  EXPECT_TRUE(config.passes_device_files);
  EXPECT_EQ(config.device_root, "/");
  EXPECT_TRUE(config.warnings.empty());
  config = good_config("flags:\n  nvidiaDriverRoot: /run/driver\n" + plugin);
  EXPECT_EQ(config.device_root, "/run/driver");
  EXPECT_TRUE(config.warnings.empty());
  config = good_config("flags:\n  nvidiaDriverRoot: /run/driver\n  nvidiaDevRoot: /\n" + plugin);
  EXPECT_EQ(config.device_root, "/");
  ASSERT_EQ(config.warnings.size(), 1U);
  EXPECT_NE(config.warnings[0].find(":2: flags.nvidiaDriverRoot"), std::string::npos);
  EXPECT_EQ(complaint_about("flags:\n  nvidiaDevRoot: dev\n" + plugin),
            "config.yaml:2: flags.nvidiaDevRoot must begin with /");
  EXPECT_TRUE(good_config("version: nvshare/v1\npassDeviceSpecs: true\n").passes_device_files);
}

TEST(NvidiaConfig, RenamedResourcesAreShared) {
  const Config config = good_config(
      "version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n    resources:\n"
      "    - {name: gpu, replicas: 4, devices: all}\n"
      "    - {name: nvidia.com/mig-1g.10gb, replicas: 2, devices: [0, 1], rename: other}\n");
  ASSERT_EQ(config.resources.size(), 2U);
  EXPECT_EQ(config.resources[0].name, "nvidia.com/gpu.shared");
  EXPECT_EQ(config.resources[1].name, "nvidia.com/mig-1g.10gb.shared");
  EXPECT_EQ(config.resources[1].mig_profile, "1g.10gb");
  ASSERT_EQ(config.warnings.size(), 2U);
  EXPECT_NE(config.warnings[0].find(":7: sharing.timeSlicing.resources.devices"),
            std::string::npos);
}

TEST(NvidiaConfig, FlagsThatConcernUsCount) {
  const Config config = good_config(
      "flags:\n  migStrategy: mixed\n  failOnInitError: false\n  gdsEnabled: null\n  plugin:\n"
      "    deviceListStrategy: [volume-mounts, cdi-cri]\n    deviceIDStrategy: index\n"
      "    sharedDevicesAllocationPolicy: packed\n    cdiAnnotationPrefix: cdi.example/\n");
  EXPECT_EQ(config.mig_names, MigNames::by_profile);
  EXPECT_FALSE(config.fails_without_gpus);
  EXPECT_EQ(config.device_lists,
            (std::vector<DeviceList>{DeviceList::volume_mounts, DeviceList::cdi_cri}));
  EXPECT_EQ(config.device_names, DeviceNames::index);
  EXPECT_EQ(config.spread, Spread::packed);
  EXPECT_EQ(config.cdi_annotation_prefix, "cdi.example/");
  EXPECT_TRUE(config.resources.empty());
  EXPECT_TRUE(config.warnings.empty());
}

TEST(NvidiaConfig, WhatHasNoEffectIsAcceptedIfItIsAsNvidiasPluginTakesIt) {
  const Config config = good_config(
      "flags: {mpsRoot: /run, gdsEnabled: true, mofedEnabled: false, deviceDiscoveryStrategy: "
      "nvml,\n"
      "        gfd: {noTimestamp: true, sleepInterval: 60s, outputFile: null}}\n"
      "resources: {gpus: [{pattern: '*', name: gpu}],\n"
      "            mig: [{pattern: 1g.5gb, name: small}], migs: []}\n"
      "imex: {channelIDs: [0], required: true}\n");
  EXPECT_EQ(config.warnings.size(), 6U);
  EXPECT_TRUE(good_config("imex: {channelIDs: []}\n").resources.empty());
}

TEST(NvidiaConfig, JsonAndAnchorsAreYaml) {
  EXPECT_EQ(good_config(R"({"version": "v1", "sharing": {"timeSlicing": {"resources":
                            [{"name": "nvidia.com/gpu", "replicas": 3}]}}})")
                .resources.at(0)
                .replicas,
            3U);
  EXPECT_EQ(good_config("sharing:\n  timeSlicing: &rr\n    resources: &list\n"
                        "    - name: nvidia.com/gpu\n      replicas: 7\n  mps: null\n")
                .resources.at(0)
                .replicas,
            7U);
}

TEST(NvidiaConfig, WrongOnesAreRefusedWithLineAndReason) {
  const std::string slicing = "version: v1\nsharing:\n  timeSlicing:\n    resources:\n";
  const std::map<std::string, std::string> wrong = {
      {"version: v2\n", "config.yaml:1: version is 'v2'"},
      {"", "config.yaml:1: it says nothing"},
      {"- a\n", "config.yaml:1: it is no mapping"},
      {"version: v1\nsharing: [\n", "config.yaml:3: it is no YAML"},
      {"version: v1\n---\nversion: v1\n", "config.yaml:3: a second document"},
      {"version: v1\nsharring: {}\n",
       "config.yaml:2: sharring is not known; did you mean 'sharing'"},
      {"version: v1\nqqq: {}\n", "config.yaml:2: qqq is not known; there are: version, flags"},
      {"version: v1\nversion: v1\n", "config.yaml:2: version is there twice"},
      {"version: v1\nflags: 7\n", "config.yaml:2: flags is no mapping"},
      {"flags:\n  migStrategy: some\n", "config.yaml:2: flags.migStrategy is none of"},
      {"flags:\n  failOnInitError: perhaps\n", "config.yaml:2: flags.failOnInitError is neither"},
      {"flags:\n  plugin:\n    deviceListStrategy: shell\n",
       "config.yaml:3: flags.plugin.deviceListStrategy is 'shell'"},
      {"flags:\n  plugin:\n    deviceListStrategie: envvar\n",
       "did you mean 'deviceListStrategy'?"},
      {"flags:\n  plugin:\n    deviceIDStrategy: name\n", "config.yaml:3: flags.plugin.deviceIDS"},
      {"flags:\n  plugin:\n    cdiAnnotationPrefix: \"x y\"\n",
       "config.yaml:3: flags.plugin.cdiAnnotationPrefix is 'x y', which begins no key: after"},
      {"flags:\n  plugin:\n    cdiAnnotationPrefix: CDI.io/\n", "before the / is a domain"},
      {"flags:\n  plugin:\n    cdiAnnotationPrefix: cdi.io/a/\n", "which begins no key"},
      {"flags:\n  plugin:\n    cdiAnnotationPrefix: cdi.io/sixteen-letters_\n", "63 at most"},
      {"flags:\n  plugin:\n    nvidiaCTKPath: [a]\n",
       "config.yaml:3: flags.plugin.nvidiaCTKPath is no text"},
      {"flags:\n  gdsEnabled: maybe\n",
       "config.yaml:2: flags.gdsEnabled is neither true nor false"},
      {"flags:\n  useNodeFeatureAPI: {}\n", "config.yaml:2: flags.useNodeFeatureAPI is neither"},
      {"flags:\n  mpsRoot: {}\n", "config.yaml:2: flags.mpsRoot is no text"},
      {"flags:\n  nvidiaDriverRoot: [/]\n", "config.yaml:2: flags.nvidiaDriverRoot is no text"},
      {"flags:\n  gfd:\n    oneshot: once\n", "config.yaml:3: flags.gfd.oneshot is neither"},
      {"flags:\n  gfd:\n    sleepInterval: []\n", "config.yaml:3: flags.gfd.sleepInterval is no"},
      {"imex:\n  channelIDs: bogus\n", "config.yaml:2: imex.channelIDs is no list of whole"},
      {"imex:\n  channelIDs: [0, one]\n", "config.yaml:2: imex.channelIDs is no list of whole"},
      {"imex:\n  required: 7\n", "config.yaml:2: imex.required is neither"},
      {"resources:\n  gpus: all\n", "config.yaml:2: resources.gpus is no list"},
      {"resources:\n  mig:\n  - {name: [a]}\n", "config.yaml:3: resources.mig.name is no text"},
      {"sharing:\n  timeSlicing: {}\n", "sharing.timeSlicing.resources must be a list"},
      {"sharing:\n  timeSlicing:\n    resources: []\n", "config.yaml:3: sharing.timeSlicing.res"},
      {slicing + "    - replicas: 2\n", "config.yaml:5: sharing.timeSlicing.resources.name is m"},
      {slicing + "    - name: nvidia.com/gpu\n", "resources.replicas is missing"},
      {slicing + "    - name: nvidia.com/gpu\n      replicas: 1\n",
       "config.yaml:6: sharing.timeSlicing.resources.replicas must be a whole number from 2"},
      {slicing + "    - name: nvidia.com/gpu\n      replicas: many\n", "config.yaml:6: "},
      {slicing + "    - name: nvidia.com/gpu\n      replicas: 2.5\n", "config.yaml:6: "},
      {slicing + "    - name: nvidia.com/cpu\n      replicas: 2\n", "there are nvidia.com/gpu and"},
      {slicing + "    - {name: gpu, replicas: 2}\n    - {name: gpu, replicas: 3}\n",
       "config.yaml:6: sharing.timeSlicing.resources.name is 'nvidia.com/gpu' a second time"},
      {slicing + "    - {name: mig-" + std::string(60, 'g') + ", replicas: 2}\n", "63 are allowed"},
      {"sharing:\n  mps:\n    resources:\n    - {name: nvidia.com/gpu, replicas: 2}\n",
       "config.yaml:3: sharing.mps asks for NVIDIA's MPS"},
  };
  for (const auto& [text, words] : wrong) {
    EXPECT_NE(complaint_about(text).find(words), std::string::npos)
        << text << "gave: " << complaint_about(text);
  }
}

TEST(OwnConfig, SaysEverything) {
  const Config config = good_config(
      "version: nvshare/v1\nresource: example.com/gpu\nreplicas: 1\ninjection: cdi-cri\n"
      "deviceListStrategy: cdi-cri\nallocationPolicy: packed\nfailRequestsGreaterThanOne: true\n"
      "memory: {ratio: 1.5, unit: 512Mi}\ncores: {resource: example.com/cores}\n");
  EXPECT_EQ(config.resources.at(0), (SharedResource{.name = "example.com/gpu", .replicas = 1}));
  EXPECT_EQ(config.injection, Injection::cdi_cri);
  EXPECT_EQ(config.device_lists, std::vector<DeviceList>{DeviceList::cdi_cri});
  EXPECT_EQ(config.spread, Spread::packed);
  EXPECT_TRUE(config.fails_requests_greater_than_one);
  EXPECT_TRUE(config.memory.is_offered);
  EXPECT_EQ(config.memory.ratio, 1.5);
  EXPECT_EQ(config.memory.unit_bytes, kGiB / 2);
  EXPECT_EQ(config.cores.name, "example.com/cores");
  EXPECT_FALSE(config.offers_the_rest);
}

TEST(OwnConfig, ItsDefaultsAreThoseWithoutAFile) {
  const Config config = good_config("version: nvshare/v1\n");
  EXPECT_EQ(config.resources.at(0), (SharedResource{.name = "nvshare.com/gpu", .replicas = 10}));
  EXPECT_FALSE(config.memory.is_offered);
  EXPECT_FALSE(config.cores.is_offered);
}

TEST(OwnConfig, WrongOnesAreRefusedWithLineAndReason) {
  const std::map<std::string, std::string> wrong = {
      {"replicas: 0\n", "config.yaml:2: replicas must be a whole number from 1 to 1000"},
      {"resource: gpu\n", "config.yaml:2: resource 'gpu' is no name of a resource"},
      {"injection: preload\n", "config.yaml:2: injection is none of"},
      {"memory: {ratio: 0}\n", "config.yaml:2: memory.ratio must be a number from 0.01 to 100"},
      {"memory: {unit: 1}\n", "config.yaml:2: memory.unit must be 1Mi or more"},
      {"memory: {unti: 1Gi}\n", "did you mean 'unit'"},
      {"sharing: {}\n", "config.yaml:2: sharing is not known"},
      {"allocationPolicy: most\n", "config.yaml:2: allocationPolicy is neither"},
      {"resource: [a]\n", "config.yaml:2: resource is no text"},
      {"memory:\n  ratio: 1\n  resource: nvshare.com/gpu\n",
       "config.yaml:4: memory.resource is 'nvshare.com/gpu', which is another resource's name"},
      {"resource: nvshare.com/gpu-core\ncores: {}\n",
       "config.yaml:3: cores.resource is 'nvshare.com/gpu-core', which is another"},
      {"memory: {resource: a/b}\ncores: {resource: a/b}\n",
       "config.yaml:3: cores.resource is 'a/b', which is another"},
  };
  for (const auto& [text, words] : wrong) {
    const std::string said = complaint_about("version: nvshare/v1\n" + text);
    EXPECT_NE(said.find(words), std::string::npos) << text << "gave: " << said;
  }
}

TEST(OwnConfig, WhatIsNotOfferedHasNoNameToTake) {
  EXPECT_FALSE(
      good_config("version: nvshare/v1\nmemory: {resource: nvshare.com/gpu, offered: false}\n"
                  "cores: {resource: nvshare.com/gpu-memory}\n")
          .memory.is_offered);
}

TEST(Flags, CountMoreThanAFile) {
  ConfigFlags flags;
  flags.resource = "example.com/gpu";
  flags.replicas = 3;
  flags.memory_ratio = 2;
  flags.offers_cores = true;
  const auto config = with_flags(good_config(kTutorial), flags);
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(config->resources.at(0), (SharedResource{.name = "example.com/gpu", .replicas = 3}));
  EXPECT_TRUE(config->memory.is_offered);
  EXPECT_TRUE(config->cores.is_offered);
  flags.resource = "nvshare.com/gpu-core";
  EXPECT_EQ(with_flags(good_config(kTutorial), flags).error(),
            "two resources have the name nvshare.com/gpu-core");
}

TEST(ResourceNames, AreAsTheKubeletTakesThem) {
  for (const char* good : {"nvshare.com/gpu", "nvidia.com/mig-1g.10gb", "a/b", "x.y-z.w/A_b.C",
                           "kubernetes.io.org/gpu", "requests/gpu", "a.requests.com/gpu"}) {
    EXPECT_EQ(resource_name_error(good), "") << good;
  }
  for (const std::string bad :
       {"gpu", "/gpu", "nvshare.com/", "Nvshare.com/gpu", "nvshare..com/gpu", "nvshare.com/-gpu",
        "nvshare.com/gpu/x", "nvshare.com/g pu", "kubernetes.io/gpu", "x.kubernetes.io/gpu",
        "mykubernetes.io/gpu", "requests.nvshare.com/gpu", "-a.com/gpu"}) {
    EXPECT_NE(resource_name_error(bad), "") << bad;
  }
  const std::string domain = "nvshare.com/";
  EXPECT_EQ(resource_name_error(domain + std::string(kNameMax - domain.size(), 'g')), "");
  EXPECT_NE(resource_name_error(domain + std::string(kNameMax - domain.size() + 1, 'g')), "");
}

class ChoiceTest : public ::testing::Test {
 protected:
  Parsed<ChosenConfig> choose() {
    return choose_config(places_, [this](const std::string& path) -> std::optional<std::string> {
      const auto found = files_.find(path);
      if (found == files_.end()) return std::nullopt;
      return found->second;
    });
  }
  std::map<std::string, std::string> files_ = {
      {"/configs/small", "few"}, {"/configs/large", "many"}, {"/one", "single"}};
  ConfigPlaces places_{.file = "", .folder = "/configs", .name = "", .label_file = "/label"};
};

TEST_F(ChoiceTest, AFlagThenTheLabelThenTheDefault) {
  EXPECT_EQ(choose()->file, "");
  places_.fallback = "small";
  EXPECT_EQ(choose()->text, "few");
  files_["/label"] = " large\n";
  EXPECT_EQ(choose()->text, "many");
  files_["/label"] = "\n";
  EXPECT_EQ(choose()->text, "few");
  files_["/label"] = "small";
  places_.name = "large";
  EXPECT_EQ(choose()->file, "/configs/large");
  places_.file = "/one";
  EXPECT_EQ(choose()->text, "single");
}

TEST_F(ChoiceTest, WhatIsNotThereIsNamed) {
  files_["/label"] = "huge";
  EXPECT_EQ(choose().error(),
            "/configs/huge: it cannot be read; the node's label (/label) names 'huge'");
  files_["/label"] = "../one";
  EXPECT_NE(choose().error().find("is no name of a config"), std::string::npos);
  places_.name = "..";
  EXPECT_NE(choose().error().find("--config"), std::string::npos);
  places_.file = "/none";
  EXPECT_EQ(choose().error(), "/none: it cannot be read");
}

}  // namespace
}  // namespace nvs::plugin
