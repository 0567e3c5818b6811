// SPDX-License-Identifier: Apache-2.0
// Pods come and go at random on a node of 8 GPUs, and plugin and kubelet restart in between. After
// each start the spread is compared with the best that any choice could have made of it.
#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "device_plugin/preferred.h"
#include "device_plugin/test_gpus.h"
#include "device_plugin/usage.h"

namespace nvs::plugin {
namespace {

constexpr unsigned kGpus = 8;

class SpreadWorld {
 public:
  explicit SpreadWorld(unsigned seed) : random_(seed) {}

  // A step of time, in which anything may happen.
  void step() {
    now_ += Duration::from_ms(static_cast<std::int64_t>(random_() % 4000));
    const auto what = random_() % 100;
    if (what < 55) {
      start();
    } else if (what < 88) {
      end();
    } else if (what < 92) {
      // The plugin restarts: all that it knew is gone. It asks for a list before it serves.
      usage_ = Usage();
      list();
    } else if (what < 94) {
      // It restarts, and PodResources does not answer.
      usage_ = Usage();
    } else {
      list();
    }
  }

  unsigned starts() const { return starts_; }

 private:
  void list() {
    std::set<PodDevice> devices;
    for (const auto& [pod, id] : pods_) devices.insert({kOwnResource, id});
    usage_.listed(now_, std::move(devices));
  }

  std::vector<unsigned> truth() const {
    std::vector<unsigned> counts(kGpus);
    for (const auto& [pod, id] : pods_) ++counts[inventory_.resources[0].find(id)->gpu];
    return counts;
  }

  static unsigned difference(const std::vector<unsigned>& counts) {
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    return *most - *least;
  }

  void start() {
    std::set<std::string> taken;
    for (const auto& [pod, id] : pods_) taken.insert(id);
    PreferredRequest request{.available = {}, .must_include = {}, .size = 1};
    for (const OfferedDevice& device : inventory_.resources[0].devices) {
      if (!taken.contains(device.id)) request.available.push_back(device.id);
    }
    if (request.available.empty()) return;
    std::shuffle(request.available.begin(), request.available.end(), random_);
    const std::vector<unsigned> before = truth();
    unsigned best = ~0U;
    for (const std::string& id : request.available) {
      std::vector<unsigned> after = before;
      ++after[inventory_.resources[0].find(id)->gpu];
      best = std::min(best, difference(after));
    }

    const auto counts = usage_.counts(now_, inventory_, kOwnResource, request.available);
    std::vector<GpuUse> use;
    for (const unsigned pods : counts) {
      use.push_back({.pods = pods, .load = static_cast<double>(random_() % 100) / 100});
    }
    const auto picked = prefer(request, inventory_.resources[0], use, Spread::distributed);
    ASSERT_TRUE(picked);
    ASSERT_EQ(picked->size(), 1U);
    usage_.allocated(now_, kOwnResource, *picked);
    pods_[++starts_] = picked->front();
    EXPECT_EQ(difference(truth()), best) << "start " << starts_;
    // No pod ended since all were even: they stay so.
    if (difference(before) <= 1) {
      EXPECT_LE(difference(truth()), 1U);
    }
  }

  void end() {
    if (pods_.empty()) return;
    auto pod = pods_.begin();
    std::advance(pod, static_cast<long>(random_() % pods_.size()));
    pods_.erase(pod);
  }

  std::mt19937 random_;
  Instant now_ = Instant::from_ns(0);
  Inventory inventory_ = *make_inventory(test_gpus(kGpus), Config{});
  Usage usage_;
  std::map<unsigned, std::string> pods_;
  unsigned starts_ = 0;
};

TEST(Spread, IsAsEvenAsItCanBeAfterEachStart) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SpreadWorld world(seed);
    while (world.starts() < 200) {
      world.step();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace nvs::plugin
