// SPDX-License-Identifier: Apache-2.0
// What classes have of a GPU that all of them could fill, as the GPU sees it: the floor shares of
// the lower ones, no less and no more.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "scenarios.h"
#include "trace.h"
#include "world.h"

namespace nvs::sim {
namespace {

using core::Priority;

enum class Highest : std::uint8_t { saturates, wakes_often };  // the high ones

// In parts of 1000 of what all have had, by place among `classes`.
std::vector<double> shares_of(const std::vector<Priority>& classes, Highest how, Duration window) {
  Plan plan = make_scenarios().front().plan;  // of equals that saturate the GPU
  plan.tenants.resize(classes.size(), plan.tenants.front());
  for (std::size_t i = 0; i < classes.size(); ++i) plan.tenants[i].priority = classes[i];
  for (TenantPlan& tenant : plan.tenants) {
    if (how == Highest::saturates || tenant.priority != Priority::high) continue;
    Load& load = tenant.processes.front().loads.front();
    load.kind = Load::Kind::bursty;
    load.burst = Duration::from_ms(8);
    load.think = Duration::from_ms(12);
  }
  plan.gpus.front().window = window;
  plan.length = Duration::from_s(60);
  Trace trace;
  World world(plan, 1, trace);
  world.run();
  EXPECT_EQ(world.failure().value_or(""), "");
  std::vector<double> shares;
  double all = 0;
  for (std::uint32_t i = 0; i < classes.size(); ++i) {
    shares.push_back(world.executed(i, 0).seconds());
    all += shares.back();
  }
  for (double& share : shares) share *= 1000 / all;
  return shares;
}

// A share is of the time in which the class waits, of which its own windows are none if it is one
// tenant's: a sixth instead of a fifth. And what a window's last kernels take is not paid back.
void expect_floors(const std::vector<Priority>& classes, const std::vector<double>& floors,
                   Highest how = Highest::saturates) {
  for (const int window_ms : {20, 80}) {
    const std::vector<double> shares = shares_of(classes, how, Duration::from_ms(window_ms));
    for (std::size_t i = 0; i < floors.size(); ++i) {
      EXPECT_GT(shares[i], floors[i] * 0.82) << "tenant " << i << ", windows of " << window_ms;
      EXPECT_LT(shares[i], floors[i] * 1.3) << "tenant " << i << ", windows of " << window_ms;
    }
  }
}

constexpr double kLow = core::kFloorShareLow;
constexpr double kNormal = core::kFloorShareNormal;

TEST(ClassShares, AreTheFloorsBesideWhoSaturatesTheGpu) {
  expect_floors({Priority::normal, Priority::high}, {kNormal});
  expect_floors({Priority::low, Priority::high}, {kLow});
  expect_floors({Priority::low, Priority::normal}, {kLow});
  expect_floors({Priority::low, Priority::normal, Priority::high}, {kLow, kNormal});
}

// What is owed is not taken by one that wakes up in the middle of it.
TEST(ClassShares, AreTheFloorsBesideWhoWakesAllTheTime) {
  for (const Priority priority : {Priority::low, Priority::normal}) {
    const double floor = priority == Priority::low ? kLow : kNormal;
    const Priority high = Priority::high;
    expect_floors({priority, high, high, high, high, high}, {floor}, Highest::wakes_often);
  }
}

TEST(ClassShares, AreDividedAmongThoseOfAClass) {
  expect_floors({Priority::normal, Priority::normal, Priority::high}, {kNormal / 2, kNormal / 2});
}

}  // namespace
}  // namespace nvs::sim
