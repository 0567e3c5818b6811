// SPDX-License-Identifier: Apache-2.0
#include "scenarios.h"

namespace nvs::sim {
namespace {

using core::Priority;

constexpr Duration us(int n) { return Duration::from_us(n); }
constexpr Duration ms(int n) { return Duration::from_ms(n); }

Load saturating(std::uint32_t gpu = 0) {
  Load load;
  load.gpu = gpu;
  load.kernel = us(1700);
  return load;
}

Load requests(Duration length, Duration every) {
  Load load;
  load.kind = Load::Kind::requests;
  load.burst = length;
  load.think = every;
  return load;
}

TenantPlan tenant(const char* label, const std::vector<Load>& loads,
                  Priority priority = Priority::normal) {
  TenantPlan plan;
  plan.label = label;
  plan.priority = priority;
  plan.processes.push_back({});
  plan.processes.back().loads = loads;
  return plan;
}

Scenario scenario(const char* name, std::uint32_t gpus, std::vector<TenantPlan> tenants) {
  Scenario made;
  made.name = name;
  made.plan.gpus.resize(gpus);
  made.plan.tenants = std::move(tenants);
  made.plan.length = Duration::from_s(5);
  return made;
}

Scenario gang_beside_busy() {
  Load member;
  member.kind = Load::Kind::collective;
  Load other = member;
  other.gpu = 1;
  Scenario made = scenario("gang_beside_busy", 2,
                           {tenant("gang", {member, other}), tenant("busy", {saturating(0)}),
                            tenant("busy", {saturating(1)})});
  made.plan.collectives.push_back({ms(3), 2, 0, {}});
  return made;
}

// The kernels of one process wait for those of the other, which comes to its gate later.
Scenario pair_beside_busy() {
  Load member;
  member.kind = Load::Kind::collective;
  TenantPlan pair = tenant("pair", {member});
  pair.processes.push_back(pair.processes.front());
  Scenario made = scenario("pair_beside_busy", 1, {pair, tenant("busy", {saturating()})});
  made.plan.tenants[0].processes[1].start = ms(45);
  made.plan.collectives.push_back({ms(3), 1, 0, {}});
  return made;
}

// Two collectives across two GPUs, three rounds deep: on each GPU one member has submitted all
// three when its window ends, and the member that they wait for comes to the gate of the other GPU
// after that. It has to be let in for each round, on either side.
Scenario chain_beside_busy() {
  TenantPlan chain = tenant("chain", {});
  chain.processes.clear();
  for (const std::uint32_t number : {0U, 1U, 2U, 3U}) {
    Load member;
    member.kind = Load::Kind::collective;
    member.gpu = number % 2;
    member.group = number < 2 ? number : 3 - number;
    chain.processes.push_back({});
    chain.processes.back().loads = {member};
    if (number >= 2) chain.processes.back().start = ms(60);
  }
  Scenario made =
      scenario("chain_beside_busy", 2,
               {chain, tenant("busy", {saturating(0)}), tenant("busy", {saturating(1)})});
  made.plan.tenants[1].processes[0].start = ms(5);
  made.plan.tenants[2].processes[0].start = ms(5);
  made.plan.collectives.assign(2, {ms(3), 4, 0, {}});
  return made;
}

Scenario drain_refused() {
  Scenario made = scenario("drain_refused", 1,
                           {tenant("stuck", {saturating()}), tenant("busy", {saturating()})});
  Happening stuck;
  stuck.kind = Happening::Kind::refuse_drains;
  stuck.at = us(500);
  stuck.span = ms(1200);
  made.plan.tenants[1].processes[0].start = ms(10);
  made.plan.happenings.push_back(stuck);
  return made;
}

Scenario daemon_restart() {
  Scenario made = scenario("daemon_restart", 1,
                           {tenant("busy", {saturating()}), tenant("busy", {saturating()})});
  Happening restart;
  restart.kind = Happening::Kind::restart_daemon;
  restart.at = ms(50);
  restart.span = ms(120);
  made.plan.happenings.push_back(restart);
  return made;
}

// Tenants of 3 GiB each on a GPU of 4 GiB.
Scenario crowded(const char* name, int tenants) {
  Load load = saturating();
  load.memory.bytes = std::uint64_t{3} << 30U;
  Scenario made = scenario(
      name, 1, std::vector<TenantPlan>(static_cast<std::size_t>(tenants), tenant("busy", {load})));
  made.plan.capacity = std::uint64_t{4} << 30U;
  made.plan.length = Duration::from_s(20);
  made.plan.strict_memory = true;
  return made;
}

// Four of a higher class work for less than a turn and rest, each with most of the memory.
Scenario bursts_beside_one_that_waits() {
  Load bursts = requests(ms(200), ms(500));
  bursts.kind = Load::Kind::bursty;
  bursts.memory.bytes = std::uint64_t{3} << 30U;
  const TenantPlan high = tenant("bursts", {bursts}, Priority::high);
  Scenario made = crowded("bursts_beside_one_that_waits", 1);
  made.plan.tenants.insert(made.plan.tenants.end(), 4, high);
  made.plan.gpus[0].turn = Duration::from_s(1);
  made.plan.length = Duration::from_s(60);
  return made;
}

}  // namespace

std::vector<Scenario> make_scenarios() {
  const TenantPlan busy = tenant("busy", {saturating()});
  return {
      scenario("two_equal", 1, {busy, busy}),
      scenario("high_beside_saturating", 1,
               {tenant("requests", {requests(us(13), ms(10))}, Priority::high), busy}),
      scenario("sleeper_beside_saturating", 1,
               {tenant("requests", {requests(us(13), ms(10))}), busy}),
      gang_beside_busy(),
      pair_beside_busy(),
      chain_beside_busy(),
      drain_refused(),
      daemon_restart(),
      crowded("two_that_do_not_fit", 2),
      crowded("four_that_do_not_fit", 4),
      bursts_beside_one_that_waits(),
  };
}

}  // namespace nvs::sim
