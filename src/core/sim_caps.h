// SPDX-License-Identifier: Apache-2.0
// For tests of caps: a GPU with windows of 40 ms, and tenants that have work all the time.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "core/sim_node.h"

namespace nvs::core {

class CapsTest : public testing::Test {
 protected:
  static constexpr Duration kPeriod = Duration::from_ms(200);

  // Of tenants 1, 2, ...: in percent, 0: none. All have work all the time.
  void all_work(const std::vector<int>& caps, Duration drain = Duration::from_ms(5)) {
    int tenant = 0;
    for (const int percent : caps) {
      ++tenant;
      node.join(tenant, tenant);
      if (percent != 0) node.cap(tenant, percent);
      node.saturate(tenant, 0, drain);
    }
  }
  // In percent, over the next 20 s.
  std::vector<double> shares(int tenants) {
    std::vector<Duration> before;
    for (int i = 1; i <= tenants; ++i) before.push_back(node.used(i));
    node.pass_ms(20'000);
    std::vector<double> result;
    for (int i = 1; i <= tenants; ++i) {
      const Duration used = node.used(i) - before[static_cast<std::size_t>(i - 1)];
      result.push_back(used.seconds() / 20 * 100);
    }
    return result;
  }
  void expect_shares(const std::vector<double>& expected) {
    const std::vector<double> had = shares(static_cast<int>(expected.size()));
    for (std::size_t i = 0; i < had.size(); ++i) EXPECT_NEAR(had[i], expected[i], 0.5) << i + 1;
  }

  SimNode node{1, {Mode::automatic, Duration::from_ms(40), {}}};
};

}  // namespace nvs::core
