// SPDX-License-Identifier: Apache-2.0
// What tenants with caps get in simulated worlds, as GPUs see it: their kernels' time there.
#include <algorithm>
#include <array>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

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
  expect_shares("capped_serial_beside_pauses", {30, 42}, 4);
  expect_shares("capped_concurrent", {30, 60}, 1);
}

constexpr std::uint32_t kTenants = 4;
constexpr std::uint32_t gpu_of(std::uint32_t tenant) { return tenant / 2; }

// What each had of its GPU more than its caps gave it by then, in ms, as the GPU saw it. Caps are
// those of the plan: neither the core nor the ledger is asked.
struct Reckoning {
  double at_s;
  std::array<double, kTenants> ahead_ms;
};

class Reckoner {
 public:
  explicit Reckoner(World& world) : world_(world) {
    for (std::uint32_t i = 0; i < kTenants; ++i) caps_[i] = world.plan().tenants[i].cap;
  }
  // At each change, and in the end; whatever the checkers complain of on the way.
  std::vector<Reckoning> run() {
    for (const Happening& what : world_.plan().happenings) {
      world_.run_until(what.at);
      look();
      caps_[what.who] = what.cap;
    }
    world_.run();
    look();
    EXPECT_EQ(world_.failure().value_or(""), "");
    return all_;
  }

 private:
  void look() {
    const Instant now = world_.now();
    const double span_ms = (now - std::exchange(looked_, now)).seconds() * 1e3;
    all_.push_back({(now - Instant{}).seconds(), {}});
    for (std::uint32_t i = 0; i < kTenants; ++i) {
      const double sum = caps_[2 * gpu_of(i)] + caps_[2 * gpu_of(i) + 1];
      due_ms_[i] += span_ms * caps_[i] / std::max<double>(sum, core::kWholeGpu);
      all_.back().ahead_ms[i] = world_.executed(i, gpu_of(i)).seconds() * 1e3 - due_ms_[i];
    }
  }

  World& world_;
  Instant looked_;
  std::array<double, kTenants> caps_{};
  std::array<double, kTenants> due_ms_{};
  std::vector<Reckoning> all_;
};

std::vector<Reckoning> reckon(int changes, Duration apart) {
  Trace trace;
  World world(make_changes(changes, apart), 1, trace);
  return Reckoner(world).run();
}

struct Worst {
  double least_ms = 0;
  double most_ms = 0;
  double least_at_s = 0;
  double most_at_s = 0;

  void note(double ms, double at_s) {
    if (ms < least_ms) least_ms = ms, least_at_s = at_s;
    if (ms > most_ms) most_ms = ms, most_at_s = at_s;
  }
  std::string text() const {
    return std::to_string(least_ms) + " ms in what ends at " + std::to_string(least_at_s) +
           " s, and " + std::to_string(most_ms) + " ms at " + std::to_string(most_at_s) + " s";
  }
};

// Over each span of so many changes, what one had and what the two of a GPU had is what caps gave
// them, but for so much: nobody stalls, and nobody has more.
void expect_right_spans(const std::vector<Reckoning>& all, std::size_t changes, double least_ms,
                        double most_ms) {
  Worst alone;
  Worst together;
  for (std::size_t k = changes; k < all.size(); ++k) {
    std::array<double, kTenants / 2> sums{};
    for (std::uint32_t i = 0; i < kTenants; ++i) {
      const double ms = all[k].ahead_ms[i] - all[k - changes].ahead_ms[i];
      sums[gpu_of(i)] += ms;
      alone.note(ms, all[k].at_s);
    }
    for (const double ms : sums) together.note(ms, all[k].at_s);
  }
  std::cout << "worst alone: " << alone.text() << "\nworst together: " << together.text() << "\n";
  for (const Worst* worst : {&alone, &together}) {
    EXPECT_GE(worst->least_ms, least_ms) << worst->text();
    EXPECT_LE(worst->most_ms, most_ms) << worst->text();
  }
}

// All in all the two of a GPU lost no more than this part of the time.
void expect_no_drift(const std::vector<Reckoning>& all, double part) {
  for (std::uint32_t gpu = 0; gpu < kTenants / 2; ++gpu) {
    const double ahead = all.back().ahead_ms[2 * gpu] + all.back().ahead_ms[2 * gpu + 1];
    EXPECT_NEAR(ahead / (all.back().at_s * 1e3), 0, part) << "gpu " << gpu;
  }
}

// After the last change, for as long as nothing changes.
void expect_right_end(const std::vector<Reckoning>& all) {
  const Reckoning& changed = all[all.size() - 2];
  const double span_ms = (all.back().at_s - changed.at_s) * 1e3;
  for (std::uint32_t i = 0; i < kTenants; ++i) {
    const double ahead_ms = all.back().ahead_ms[i] - changed.ahead_ms[i];
    EXPECT_NEAR(ahead_ms / span_ms * 100, 0, 1) << "tenant " << i + 1;
  }
}

// What two may have saved, or still have to save, before they run: quanta are 50 ms at most.
constexpr double kQuanta_ms = 100;

// Ten changes a second for a while. Each of them cuts off a bit of what somebody has saved.
TEST(CappedWorlds, AThousandChangesLeaveNothingBehind) {
  const std::vector<Reckoning> all = reckon(1000, Duration::from_ms(100));
  constexpr std::size_t kChanges = 20;
  constexpr double kCutOff_ms = 5;
  expect_right_spans(all, kChanges, -kQuanta_ms - kCutOff_ms * kChanges, kQuanta_ms);
  expect_no_drift(all, 0.01);
  expect_right_end(all);
}

// From each of them to the next everybody has what is due, in six seconds and in the twenty after
// the last; the checker cap_changes looks at every step of the core in between.
TEST(CappedWorlds, AfterEachChangeSharesAreRight) {
  const std::vector<Reckoning> all = reckon(1000, Duration::from_s(6));
  expect_right_spans(all, 1, -kQuanta_ms, kQuanta_ms);
  expect_no_drift(all, 0.001);
  expect_right_end(all);
}

}  // namespace
}  // namespace nvs::sim
