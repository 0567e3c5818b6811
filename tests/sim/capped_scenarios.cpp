// SPDX-License-Identifier: Apache-2.0
// Tenants that always have work, and caps on them.
#include "random.h"
#include "scenarios.h"

namespace nvs::sim {
namespace {

TenantPlan capped(const char* label, std::uint32_t percent, Duration kernel, std::uint32_t gpu) {
  Load load;
  load.gpu = gpu;
  load.kernel = kernel;
  TenantPlan plan;
  plan.label = label;
  plan.cap = percent * kPercent;
  plan.processes.push_back({});
  plan.processes.back().loads = {load};
  plan.processes.back().tells = ProcessPlan::Tells::since;
  return plan;
}

// One tenant for each, in percent; on the GPUs by turns.
Scenario made_of(const char* name, const std::vector<std::uint32_t>& caps, std::uint32_t gpus = 1,
                 Duration kernel = Duration::from_us(1700)) {
  Scenario made;
  made.name = name;
  made.plan.gpus.resize(gpus);
  for (core::GpuPolicy& policy : made.plan.gpus) policy.window = Duration::from_ms(80);
  for (std::size_t number = 0; number < caps.size(); ++number) {
    const auto gpu = static_cast<std::uint32_t>(number * gpus / caps.size());
    const std::string label = std::to_string(caps[number]) + "%";
    made.plan.tenants.push_back(capped(label.c_str(), caps[number], kernel, gpu));
  }
  made.plan.capped = made.plan.quiet = true;
  made.plan.length = Duration::from_s(20);
  return made;
}

Scenario in_mode(Scenario made, core::Mode mode) {
  made.plan.gpus.front().mode = mode;
  if (mode == core::Mode::serial) made.plan.gpus.front().turn = Duration::from_s(1);
  if (mode == core::Mode::serial) made.plan.length = Duration::from_s(60);
  made.plan.quiet = false;
  return made;
}

// The other one has no cap, and pauses in its turns.
Scenario beside_pauses() {
  Scenario made = in_mode(made_of("capped_serial_beside_pauses", {30}), core::Mode::serial);
  made.plan.gpus.front().turn = Duration::from_s(5);
  made.plan.length = Duration::from_s(120);
  made.plan.tenants.push_back(made.plan.tenants.front());
  TenantPlan& other = made.plan.tenants.back();
  other.label = "60/40";
  other.cap = core::kNoCap;
  Load& load = other.processes.front().loads.front();
  load.kind = Load::Kind::bursty;
  load.burst = Duration::from_ms(60);
  load.think = Duration::from_ms(40);
  return made;
}

Scenario high_beside_capped() {
  Scenario made = made_of("high_beside_capped", {60});
  TenantPlan sleeper;
  sleeper.label = "requests";
  sleeper.priority = core::Priority::high;
  Load load;
  load.kind = Load::Kind::requests;
  load.burst = Duration::from_us(13);
  load.think = Duration::from_ms(10);
  sleeper.processes.push_back({});
  sleeper.processes.back().loads = {load};
  made.plan.tenants.insert(made.plan.tenants.begin(), sleeper);
  made.plan.quiet = false;
  made.plan.length = Duration::from_s(5);
  return made;
}

}  // namespace

std::vector<Scenario> make_capped_scenarios() {
  const auto long_kernels = Duration::from_ms(200);
  return {
      made_of("capped_alone", {25}),
      made_of("capped_30_60", {30, 60}),
      made_of("capped_80_40_40", {80, 40, 40}),
      made_of("capped_four", {10, 20, 30, 40}),
      made_of("capped_long_kernels", {30, 60}, 1, long_kernels),
      made_of("capped_two_gpus", {30, 60, 30, 60}, 2),
      high_beside_capped(),
      in_mode(made_of("capped_serial_30_60", {30, 60}), core::Mode::serial),
      beside_pauses(),
      in_mode(made_of("capped_concurrent", {30, 60}), core::Mode::concurrent),
  };
}

Plan make_changes(int count, Duration apart) {
  Plan plan = made_of("", {30, 60, 30, 60}, 2).plan;
  const Duration end = apart * count;
  plan.length = end + kUnchanged;
  Random random(7);
  for (int number = 0; number < count; ++number) {
    Happening what;
    what.kind = Happening::Kind::set_cap;
    what.at = apart * number + Duration::from_us(random.between(0, apart.ns() / 8000));
    what.who = static_cast<std::uint32_t>(random.below(4));
    what.cap = static_cast<core::Share>(random.between(1, 100)) * kPercent;
    plan.happenings.push_back(what);
  }
  for (std::uint32_t who = 0; who < 4; ++who) {
    Happening last;
    last.kind = Happening::Kind::set_cap;
    last.at = end;
    last.who = who;
    last.cap = plan.tenants[who].cap;
    plan.happenings.push_back(last);
  }
  return plan;
}

}  // namespace nvs::sim
