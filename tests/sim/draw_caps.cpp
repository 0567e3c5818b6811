// SPDX-License-Identifier: Apache-2.0
// Draws the caps of a plan: a quarter of them has some, and changes them while it runs.
#include <algorithm>

#include "plan.h"
#include "random.h"

namespace nvs::sim {
namespace {

constexpr std::uint64_t kSeedOfCaps = 0x63617073;  // not the one that the plan is drawn from

class CapDrawing {
 public:
  CapDrawing(std::uint64_t seed, Plan& plan) : random_(seed ^ kSeedOfCaps), plan_(plan) {}

  void make() {
    if (!random_.percent(25)) return;
    plan_.capped = true;
    const int of_100 = random_.percent(50) ? 100 : 50;
    for (TenantPlan& tenant : plan_.tenants) {
      if (random_.percent(of_100)) tenant.cap = cap();
      for (ProcessPlan& process : tenant.processes) draw_words(process);
    }
    for (core::GpuPolicy& policy : plan_.gpus) {
      if (!plan_.quiet && random_.percent(15)) policy.quota_period = ms(10, 1000);
    }
    // In quiet runs there has to be time to see what a change leads to.
    const std::int64_t every = plan_.quiet ? 8 : random_.between(1, 4);
    if (random_.percent(70)) add_changes(plan_.length.ns() / 1'000'000'000 / every + 1);
  }

 private:
  Duration ms(std::int64_t least, std::int64_t most) {
    return random_.between(Duration::from_ms(least), Duration::from_ms(most));
  }

  core::Share cap() {
    const std::int64_t percent =
        random_.percent(80) ? random_.between(5, 95) : random_.between(1, 100);
    return static_cast<core::Share>(percent) * kPercent;
  }

  void draw_words(ProcessPlan& process) {
    using Tells = ProcessPlan::Tells;
    const std::uint64_t kind = random_.below(10);
    process.tells = kind < 2 ? Tells::when : kind < 9 || plan_.quiet ? Tells::since : Tells::lies;
    if (random_.percent(50)) process.busy_after = ms(0, 5);
  }

  void add_changes(std::int64_t count) {
    for (std::int64_t number = 0; number < count; ++number) {
      Happening what;
      what.kind = Happening::Kind::set_cap;
      what.at = random_.between(Duration{}, plan_.length);
      what.who = static_cast<std::uint32_t>(random_.below(plan_.tenants.size()));
      const bool none = !plan_.quiet && random_.percent(15);
      what.cap = none ? core::kNoCap : cap();
      plan_.happenings.push_back(what);
    }
  }

  Random random_;
  Plan& plan_;
};

}  // namespace

void draw_caps(std::uint64_t seed, Plan& plan) { CapDrawing(seed, plan).make(); }

}  // namespace nvs::sim
