// SPDX-License-Identifier: Apache-2.0
// Draws the memory of a plan: of processes that all fit, that do not, and that never can.
#include <algorithm>

#include "plan.h"
#include "random.h"

namespace nvs::sim {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kSeedOfMemory = 0x6d656d6f7279;  // not the one that the plan is drawn from

class MemoryDrawing {
 public:
  MemoryDrawing(std::uint64_t seed, Plan& plan) : random_(seed ^ kSeedOfMemory), plan_(plan) {}

  void make() {
    if (plan_.quiet || !random_.percent(50)) return;
    plan_.capacity = static_cast<std::uint64_t>(random_.between(1024, 8192)) * kMiB;
    plan_.bus_rate = static_cast<std::uint64_t>(random_.between(1, 100)) * 1'000'000'000;
    plan_.strict_memory = random_.percent(40);
    const bool restarts = std::any_of(
        plan_.happenings.begin(), plan_.happenings.end(),
        [](const Happening& what) { return what.kind == Happening::Kind::restart_daemon; });
    plan_.strict_memory = plan_.strict_memory && !restarts;
    plan_.death_lag = Duration::from_ms(random_.between(0, 300));
    // Of 100 for all together: some fit, some do not.
    const std::int64_t crowd =
        random_.percent(30) ? random_.between(20, 95) : random_.between(100, 300);
    for (TenantPlan& tenant : plan_.tenants) {
      for (ProcessPlan& process : tenant.processes) {
        for (Load& load : process.loads) add(load, crowd);
      }
    }
    for (core::GpuPolicy& policy : plan_.gpus) {
      if (random_.percent(50)) policy.turn = Duration::from_ms(random_.between(100, 1500));
    }
    if (!plan_.strict_memory) add_happenings();
    if (random_.percent(25)) add_to_process(Happening::Kind::lose_contexts);
    if (random_.percent(25)) add_to_process(Happening::Kind::keep_memory);
    if (random_.percent(25)) add_reach();
  }

 private:
  std::uint64_t part(std::int64_t per_mille) {
    return plan_.capacity / 1000 * static_cast<std::uint64_t>(per_mille);
  }

  void add(Load& load, std::int64_t crowd) {
    if (random_.percent(15)) return;  // it says nothing about memory
    const auto tenants = static_cast<std::int64_t>(plan_.tenants.size());
    const std::int64_t mean = std::min<std::int64_t>(crowd * 10 / tenants, 600);
    load.memory.bytes = std::max(part(random_.between(mean / 3, mean * 5 / 3)), kMiB);
    if (random_.percent(2)) load.memory.bytes = part(random_.between(900, 1300));
    if (!plan_.strict_memory && random_.percent(50)) {
      load.memory.fixed = part(random_.between(0, 30));
    }
    const std::int64_t changes = random_.percent(50) ? 0 : random_.between(1, 6);
    for (std::int64_t i = 0; i < changes; ++i) {
      const auto bytes = static_cast<std::int64_t>(part(random_.between(1, mean / 2 + 2)));
      load.memory.changes.push_back(
          {random_.between(Duration{}, plan_.length), random_.percent(60) ? bytes : -bytes});
    }
  }

  void add_reach() {
    for (TenantPlan& tenant : plan_.tenants) {
      for (ProcessPlan& process : tenant.processes) {
        const bool is_reached = process.loads.size() > 1 && random_.percent(50);
        for (Load& load : process.loads) load.memory.reached = is_reached;
      }
    }
  }

  void add_to_process(Happening::Kind kind) {
    std::uint64_t processes = 0;
    for (const TenantPlan& tenant : plan_.tenants) processes += tenant.processes.size();
    Happening what;
    what.kind = kind;
    what.at = random_.between(Duration{}, plan_.length);
    what.who = static_cast<std::uint32_t>(random_.below(processes));
    if (kind == Happening::Kind::keep_memory) {
      what.span = Duration::from_ms(random_.between(10, 6000));
    }
    plan_.happenings.push_back(what);
  }

  void add_happenings() {
    const std::int64_t count = random_.between(0, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      Happening what;
      what.kind =
          random_.percent(50) ? Happening::Kind::take_memory : Happening::Kind::set_capacity;
      what.at = random_.between(Duration{}, plan_.length);
      what.span = Duration::from_ms(random_.between(10, 3000));
      what.who = static_cast<std::uint32_t>(random_.below(plan_.gpus.size()));
      what.bytes = what.kind == Happening::Kind::take_memory ? part(random_.between(10, 300))
                                                             : part(random_.between(600, 1000));
      plan_.happenings.push_back(what);
    }
  }

  Random random_;
  Plan& plan_;
};

}  // namespace

void draw_memory(std::uint64_t seed, Plan& plan) { MemoryDrawing(seed, plan).make(); }

}  // namespace nvs::sim
