// SPDX-License-Identifier: Apache-2.0
// Draws a plan from a seed: every seed has its own mix of tenants, settings, delays and faults.
#include <algorithm>

#include "plan.h"
#include "random.h"

namespace nvs::sim {
namespace {

using core::Mode;
using core::Priority;

constexpr std::uint32_t kTenantsDrawn = 10;
constexpr std::uint32_t kGpusDrawn = 4;

class Drawing {
 public:
  Drawing(std::uint64_t seed, const PlanSize& size) : random_(seed) {
    plan_.quiet = random_.percent(8);
    gpus_ = size.gpus != 0 ? size.gpus : random_.percent(55) ? 1 : draw(2, kGpusDrawn);
    tenants_ = size.tenants != 0 ? size.tenants : draw(1, kTenantsDrawn);
    plan_.length = size.length;
    if (size.length == Duration{}) {
      plan_.length = random_.between(Duration::from_s(2), Duration::from_s(45));
      if (plan_.quiet) plan_.length = Duration::from_s(60);
    }
  }

  Plan make() {
    for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) plan_.gpus.push_back(policy());
    draw_delays();
    for (std::uint32_t tenant = 0; tenant < tenants_; ++tenant) add_tenant();
    if (!plan_.quiet) draw_happenings();
    return std::move(plan_);
  }

 private:
  std::uint32_t draw(std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(random_.below(most - least + 1));
  }
  Duration ms(std::int64_t least, std::int64_t most) {
    return random_.between(Duration::from_ms(least), Duration::from_ms(most));
  }
  Duration us(std::int64_t least, std::int64_t most) {
    return random_.between(Duration::from_us(least), Duration::from_us(most));
  }

  core::GpuPolicy policy() {
    core::GpuPolicy policy;
    if (plan_.quiet || random_.percent(60)) return policy;
    const std::uint64_t kind = random_.below(10);
    policy.mode = kind < 6 ? Mode::automatic : kind < 9 ? Mode::serial : Mode::concurrent;
    policy.window = random_.percent(50) ? policy.window : ms(2, 100);
    if (policy.mode == Mode::serial || random_.percent(20)) policy.turn = ms(100, 700);
    return policy;
  }

  void draw_delays() {
    plan_.delay = random_.percent(80) ? us(10, 200) : us(200, 5'000);
    plan_.delay_rare = random_.percent(50) ? plan_.delay : us(200, 100'000);
    if (plan_.quiet) plan_.delay_rare = plan_.delay;
  }

  Priority priority() {
    const std::uint64_t kind = random_.below(10);
    return kind < 6 ? Priority::normal : kind < 8 ? Priority::high : Priority::low;
  }

  // Most are near each other; some are as far apart as they can be.
  std::uint32_t weight() {
    constexpr std::uint32_t kOthers[] = {1, 3, 10, 30, 700, 1000};
    return random_.percent(60) ? draw(1, 10) * 50 : kOthers[random_.below(std::size(kOthers))];
  }

  Load load(Load::Kind kind, std::uint32_t gpu) {
    Load load;
    load.gpu = gpu;
    load.kind = kind;
    load.kernel = random_.percent(80) ? us(10, 2'000) : ms(2, 30);
    load.depth = random_.percent(50) ? us(100, 5'000) : ms(5, 120);
    load.burst = random_.percent(60) ? us(13, 5'000) : ms(1, 80);
    // Requests that come faster than they are served would be a saturating load.
    load.think = std::max(load.burst * draw(1, 12), ms(3, 30));
    if (random_.percent(20)) load.think = ms(100, 1500);
    return load;
  }

  void add_tenant() {
    TenantPlan tenant;
    if (plan_.quiet) {
      add_quiet(tenant);
    } else {
      tenant.priority = priority();
      if (random_.percent(30)) tenant.weight = weight();
      const std::uint64_t kind = random_.below(100);
      if (kind < 35) add_simple(tenant, Load::Kind::saturating, "saturating");
      if (kind >= 35 && kind < 55) add_simple(tenant, Load::Kind::bursty, "bursty");
      if (kind >= 55 && kind < 72) add_simple(tenant, Load::Kind::requests, "requests");
      if (kind >= 72 && kind < 80) add_simple(tenant, Load::Kind::once, "idle");
      if (kind >= 80 && kind < 90) add_gang(tenant);
      if (kind >= 90) add_pair(tenant);
    }
    plan_.tenants.push_back(std::move(tenant));
  }

  void add_quiet(TenantPlan& tenant) {
    tenant.label = "saturating";
    tenant.weight = draw(1, 10) * 50;
    for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
      // Each GPU has its own tenants: gangs would tie their shares together.
      if (plan_.tenants.size() % gpus_ != gpu) continue;
      const Load one = load(Load::Kind::saturating, gpu);
      tenant.processes.push_back({});
      tenant.processes.back().loads.push_back(one);
      tenant.processes.back().start = us(0, 5'000);
    }
  }

  void add_simple(TenantPlan& tenant, Load::Kind kind, const char* label) {
    tenant.label = label;
    const std::uint32_t processes = random_.percent(75) ? 1 : draw(2, 4);
    for (std::uint32_t number = 0; number < processes; ++number) {
      ProcessPlan process = empty_process();
      const std::uint32_t first = draw(0, gpus_ - 1);
      process.loads.push_back(load(kind, first));
      if (gpus_ > 1 && random_.percent(15)) {
        process.loads.push_back(load(kind, (first + 1) % gpus_));
      }
      tenant.processes.push_back(std::move(process));
    }
  }

  ProcessPlan empty_process() {
    ProcessPlan process;
    process.start = random_.percent(60) ? us(0, 20'000) : ms(0, plan_.length.ns() / 2'000'000);
    process.idle_after = us(100, 3'000);
    if (random_.percent(8)) process.lateness = ms(1, 250);
    return process;
  }

  std::uint32_t add_collective() {
    CollectivePlan one;
    one.round = us(200, 8'000);
    one.ahead = draw(1, 3);
    if (random_.percent(40)) {
      one.rounds = draw(1, 20);
      one.rest = ms(5, 200);
    }
    plan_.collectives.push_back(one);
    return static_cast<std::uint32_t>(plan_.collectives.size() - 1);
  }

  Load member(std::uint32_t gpu, std::uint32_t group) {
    Load one;
    one.gpu = gpu;
    one.kind = Load::Kind::collective;
    one.group = group;
    return one;
  }

  // One process whose kernels on several GPUs wait for each other, or a process for each GPU.
  void add_gang(TenantPlan& tenant) {
    tenant.label = "gang";
    const std::uint32_t group = add_collective();
    const std::uint32_t members = draw(1, gpus_);
    const bool one_process = random_.percent(50);
    for (std::uint32_t gpu = 0; gpu < members; ++gpu) {
      if (gpu == 0 || !one_process) tenant.processes.push_back(empty_process());
      tenant.processes.back().loads.push_back(member(gpu, group));
    }
  }

  // Two processes on one GPU whose kernels wait for each other.
  void add_pair(TenantPlan& tenant) {
    tenant.label = "pair";
    const std::uint32_t group = add_collective();
    const std::uint32_t gpu = draw(0, gpus_ - 1);
    for (int number = 0; number < 2; ++number) {
      tenant.processes.push_back(empty_process());
      tenant.processes.back().loads.push_back(member(gpu, group));
    }
  }

  void draw_happenings() {
    const std::uint32_t rate = draw(0, 6);  // a run of some seconds has up to so many
    const auto count = static_cast<std::int64_t>(rate) *
                       std::max<std::int64_t>(1, plan_.length.ns() / 3'000'000'000);
    for (std::int64_t number = 0; number < count; ++number) plan_.happenings.push_back(happening());
  }

  std::uint32_t any_process() {
    std::uint32_t count = 0;
    for (const TenantPlan& tenant : plan_.tenants) {
      count += static_cast<std::uint32_t>(tenant.processes.size());
    }
    return draw(0, count - 1);
  }

  Happening happening() {
    using Kind = Happening::Kind;
    constexpr Kind kKinds[] = {
        Kind::crash,          Kind::leave_and_join, Kind::leave_and_join, Kind::freeze,
        Kind::freeze,         Kind::refuse_drains,  Kind::refuse_drains,  Kind::set_policy,
        Kind::set_priority,   Kind::set_weight,     Kind::pause,          Kind::pause,
        Kind::restart_daemon, Kind::stall_daemon,   Kind::stop_clock,     Kind::jump_clock};
    Happening what;
    what.kind = kKinds[random_.below(std::size(kKinds))];
    what.at = random_.between(Duration{}, plan_.length);
    what.span = random_.percent(50) ? ms(1, 60) : ms(60, 1200);
    what.policy = policy();
    what.priority = priority();
    what.weight = weight();
    switch (what.kind) {
      case Kind::crash:
      case Kind::leave_and_join:
      case Kind::freeze:
      case Kind::refuse_drains:
        what.who = any_process();
        break;
      case Kind::set_policy:
        what.who = draw(0, gpus_ - 1);
        break;
      case Kind::restart_daemon:
        what.span = std::max(what.span, Duration::from_ms(40));
        break;
      default:
        what.who = draw(0, tenants_ - 1);
    }
    return what;
  }

  Random random_;
  Plan plan_;
  std::uint32_t gpus_ = 1;
  std::uint32_t tenants_ = 1;
};

}  // namespace

Plan draw_plan(std::uint64_t seed, const PlanSize& size) {
  Plan plan = Drawing(seed, size).make();
  draw_memory(seed, plan);
  draw_caps(seed, plan);
  return plan;
}

}  // namespace nvs::sim
