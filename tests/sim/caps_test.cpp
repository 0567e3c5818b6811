// SPDX-License-Identifier: Apache-2.0
// What tenants with caps get in simulated worlds, as GPUs see it: their kernels' time there.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "scenarios.h"
#include "trace.h"
#include "world.h"

namespace nvs::sim {
namespace {

// In percent of the GPU that it has, by place in the plan.
std::vector<double> shares_of(const std::string& name) {
  for (const Scenario& scenario : make_capped_scenarios()) {
    if (scenario.name != name) continue;
    Trace trace;
    World world(scenario.plan, 1, trace);
    world.run();
    EXPECT_EQ(world.failure().value_or(""), "");
    const double length = (world.now() - Instant{}).seconds();
    std::vector<double> shares;
    for (std::uint32_t tenant = 0; tenant < scenario.plan.tenants.size(); ++tenant) {
      const std::uint32_t gpu = scenario.plan.tenants[tenant].processes[0].loads[0].gpu;
      shares.push_back(world.executed(tenant, gpu).seconds() / length * 100);
    }
    return shares;
  }
  ADD_FAILURE() << "there is no scenario " << name;
  return {};
}

void expect_shares(const std::string& name, const std::vector<double>& expected, double points) {
  const std::vector<double> shares = shares_of(name);
  ASSERT_EQ(shares.size(), expected.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    EXPECT_NEAR(shares[i], expected[i], points) << name << ", tenant " << i + 1;
  }
}

TEST(CappedWorlds, EachGetsItsPart) {
  expect_shares("capped_alone", {25}, 1);
  expect_shares("capped_30_60", {30, 60}, 1);
  expect_shares("capped_80_40_40", {50, 25, 25}, 1);
  expect_shares("capped_four", {10, 20, 30, 40}, 1);
  expect_shares("capped_long_kernels", {30, 60}, 2);
  expect_shares("capped_two_gpus", {30, 60, 30, 60}, 1);
}

TEST(CappedWorlds, AlsoInTurnsAndWithoutWindows) {
  expect_shares("capped_serial_30_60", {30, 60}, 3);
  expect_shares("capped_concurrent", {30, 60}, 1);
}

// Whatever the checkers complain of on the way; and what everybody gets in the end.
void expect_right_after(int changes, Duration apart) {
  Trace trace;
  World world(make_changes(changes, apart), 1, trace);
  constexpr Duration kSettles = Duration::from_s(2);
  std::map<std::uint32_t, Duration> before;
  world.run_until(apart * changes + kSettles);
  for (std::uint32_t tenant = 0; tenant < 4; ++tenant) {
    before[tenant] = world.executed(tenant, tenant / 2);
  }
  world.run();
  EXPECT_EQ(world.failure().value_or(""), "");
  const double seconds = (kUnchanged - kSettles).seconds();
  for (std::uint32_t tenant = 0; tenant < 4; ++tenant) {
    const double used = (world.executed(tenant, tenant / 2) - before[tenant]).seconds();
    EXPECT_NEAR(used / seconds * 100, tenant % 2 == 0 ? 30 : 60, 1) << "tenant " << tenant + 1;
  }
}

// Nobody stalls or has more than its cap on the way, and no error is left behind.
TEST(CappedWorlds, AThousandChangesLeaveNothingBehind) {
  expect_right_after(1000, Duration::from_ms(100));
}

// From two seconds after each of them on, everybody has what is due, and no more together than
// there is: the checker cap_changes looks at every step.
TEST(CappedWorlds, AfterEachChangeSharesAreRight) { expect_right_after(1000, Duration::from_s(6)); }

}  // namespace
}  // namespace nvs::sim
