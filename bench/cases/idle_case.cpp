// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/idle_case.h"

#include <algorithm>

namespace nvs::bench {
namespace {

constexpr std::size_t kTenants = 3;
constexpr int kBurstKernels = 4;
constexpr double kBusyShare = 0.1;
constexpr double kSleepSeconds = kBurstKernels * kKernelSeconds * (1 / kBusyShare - 1);
// Percent of the time that one alone takes.
const Target kTogether = {std::nullopt, 103};

struct IdlePlan {
  int rounds;
  int bursts;
};
IdlePlan idle_plan_for(const Bench& bench) {
  return bench.quick ? IdlePlan{1, 20} : IdlePlan{3, 60};
}

std::vector<Task> all_burst(std::size_t tenants, int bursts, int round) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < tenants; ++i) {
    const auto seed = static_cast<std::uint64_t>(round) * kTenants + i;
    tasks.push_back(bursting(i, 0, bursts, kBurstKernels, kSleepSeconds, seed));
  }
  return tasks;
}

// The time of the tenant that took longest.
double slowest(const std::vector<nlohmann::json>& answers) {
  double result = 0;
  for (const nlohmann::json& answer : answers) {
    result = std::max(result, answer.at("seconds").get<double>());
  }
  return result;
}

}  // namespace

void IdleCase::run(const Bench& bench) const {
  const IdlePlan plan = idle_plan_for(bench);
  Progress progress(name(), 1 + 4 * plan.rounds);
  Sharing sharing(bench, progress);
  sharing.step("kernels and tenants");
  sharing.add_load(Work::kAdd, kKernelSeconds);
  Tenants bare = sharing.bare_tenants(kTenants);
  Tenants shared = sharing.shared_tenants(std::vector<std::string>(kTenants, "normal"));

  sharing.begin_section("Bursts of 4 kernels of 1.7 ms, busy a tenth of the time");
  const double about_s = plan.bursts * (kSleepSeconds + kBurstKernels * kKernelSeconds);
  std::vector<double> alone_s;
  std::vector<double> daemon_one;
  std::vector<double> daemon_all;
  std::vector<double> driver_all;
  for (int round = 0; round < plan.rounds; ++round) {
    const auto measure = [&](const char* what, Tenants& tenants, std::size_t count) {
      sharing.step(what);
      return slowest(sharing.measure(tenants, all_burst(count, plan.bursts, round), about_s));
    };
    const double alone = measure("alone", bare, 1);
    alone_s.push_back(alone);
    daemon_one.push_back(100 * measure("nvshare, one tenant", shared, 1) / alone);
    daemon_all.push_back(100 * measure("nvshare, three tenants", shared, kTenants) / alone);
    driver_all.push_back(100 * measure("driver, three tenants", bare, kTenants) / alone);
  }
  sharing.add("one tenant alone", alone_s, "s");
  sharing.add("one tenant, nvshare, of alone", daemon_one, "%", kTogether);
  sharing.add("3 tenants, nvshare, the slowest of alone", daemon_all, "%", kTogether);
  sharing.add("3 tenants, driver, the slowest of alone", driver_all, "%");
}

}  // namespace nvs::bench
