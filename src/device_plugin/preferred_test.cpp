// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/preferred.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "device_plugin/test_gpus.h"

namespace nvs::plugin {
namespace {

class PreferTest : public ::testing::Test {
 protected:
  PreferTest() {
    Config config;
    config.resources[0].replicas = 4;
    inventory_ = *make_inventory(test_gpus(3), config);
    for (const OfferedDevice& device : resource().devices) request_.available.push_back(device.id);
  }
  const OfferedResource& resource() const { return inventory_.resources[0]; }

  // The GPUs of the answer, in its order.
  std::vector<std::size_t> gpus(unsigned size, Spread spread = Spread::distributed) {
    request_.size = size;
    const auto picked = prefer(request_, resource(), use_, spread);
    EXPECT_TRUE(picked) << picked.error();
    std::set<std::string> unique(picked->begin(), picked->end());
    EXPECT_EQ(unique.size(), picked->size());
    std::vector<std::size_t> gpus;
    for (const std::string& id : *picked) {
      EXPECT_NE(std::find(request_.available.begin(), request_.available.end(), id),
                request_.available.end());
      gpus.push_back(resource().find(id)->gpu);
    }
    return gpus;
  }

  Inventory inventory_;
  PreferredRequest request_;
  std::vector<GpuUse> use_ = {{.pods = 2, .load = 0}, {.pods = 1, .load = 0.9}, {.pods = 1}};
};

using Gpus = std::vector<std::size_t>;

TEST_F(PreferTest, TheFewestPodsThenTheLeastLoad) {
  EXPECT_EQ(gpus(1), Gpus{2});
  use_[2].load = 0.95;
  EXPECT_EQ(gpus(1), Gpus{1});
  use_[0].pods = 0;
  EXPECT_EQ(gpus(1), Gpus{0});
}

TEST_F(PreferTest, BetweenPodsAndLoadCountsTheMemoryThatWasPromised) {
  use_[2].promised = 0.5;
  EXPECT_EQ(gpus(1), Gpus{1});
  use_[1].promised = 0.75;
  EXPECT_EQ(gpus(1), Gpus{2});
  use_[0].pods = 1;
  EXPECT_EQ(gpus(1), Gpus{0});
  // Packed it is no less a reason.
  EXPECT_EQ(gpus(1, Spread::packed), Gpus{0});
  use_[1].pods = 2;
  EXPECT_EQ(gpus(1, Spread::packed), Gpus{1});
}

TEST_F(PreferTest, PackedTakesTheFullest) {
  EXPECT_EQ(gpus(1, Spread::packed), Gpus{0});
  use_[2].pods = 5;
  EXPECT_EQ(gpus(1, Spread::packed), Gpus{2});
}

TEST_F(PreferTest, SeveralOfOneRequestAreOnDifferentGpus) {
  EXPECT_EQ(gpus(3), (Gpus{2, 1, 0}));
  EXPECT_EQ(gpus(4), (Gpus{2, 1, 0, 2}));
  EXPECT_EQ(gpus(3, Spread::packed), (Gpus{0, 2, 1}));
}

TEST_F(PreferTest, AFullGpuIsNotPicked) {
  std::erase_if(request_.available, [](const std::string& id) {
    return id.starts_with(test_uuid(2)) || id.starts_with(test_uuid(1));
  });
  EXPECT_EQ(gpus(2), (Gpus{0, 0}));
}

TEST_F(PreferTest, WhatMustBeThereIsThereAndCounts) {
  request_.must_include = {test_uuid(2) + "::1"};
  EXPECT_EQ(gpus(1), Gpus{2});
  EXPECT_EQ(gpus(2), (Gpus{2, 1}));
  request_.must_include = {test_uuid(2) + "::1", test_uuid(2) + "::1"};
  EXPECT_EQ(gpus(2), (Gpus{2, 1}));
  // An init container had it: the next one has it again, whatever would be better.
  request_.must_include = {test_uuid(0) + "::3"};
  EXPECT_EQ(gpus(1), Gpus{0});
  EXPECT_EQ(gpus(2), (Gpus{0, 2}));
}

TEST_F(PreferTest, WhatIsNotThereIsNotInvented) {
  request_.available = {test_uuid(0) + "::0", "GPU-gone::1"};
  request_.size = 2;
  EXPECT_EQ(*prefer(request_, resource(), use_, Spread::distributed),
            std::vector<std::string>{test_uuid(0) + "::0"});
  request_.must_include = {"GPU-gone::1"};
  EXPECT_FALSE(prefer(request_, resource(), use_, Spread::distributed));
}

}  // namespace
}  // namespace nvs::plugin
