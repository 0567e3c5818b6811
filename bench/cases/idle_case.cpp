// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/idle_case.h"

#include <algorithm>
#include <numeric>

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

struct Seen {
  std::vector<double> seconds;    // of the slowest tenant, each round
  std::vector<double> bursts_ms;  // of all tenants
  std::vector<double> begins_ms;  // until the first kernel of each was submitted
};

std::vector<double> percent_of(const Seen& alone, const Seen& seen) {
  std::vector<double> result;
  for (std::size_t i = 0; i < seen.seconds.size(); ++i) {
    result.push_back(100 * seen.seconds[i] / alone.seconds[i]);
  }
  return result;
}

// A burst at the median meets no other one; on average they do.
void add_bursts(Sharing& sharing, const std::string& who, const Seen& seen) {
  const std::vector<double>& all_ms = seen.bursts_ms;
  const double sum_ms = std::accumulate(all_ms.begin(), all_ms.end(), 0.0);
  sharing.add(who + ", a burst, p50", {percentile(all_ms, 0.5)}, "ms");
  sharing.add(who + ", its first launch, p50", {percentile(seen.begins_ms, 0.5)}, "ms");
  sharing.add(who + ", a burst, mean", {sum_ms / static_cast<double>(all_ms.size())}, "ms");
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
  Seen alone;
  Seen daemon_one;
  Seen daemon_all;
  Seen driver_all;
  for (int round = 0; round < plan.rounds; ++round) {
    const auto measure = [&](const char* what, Tenants& tenants, std::size_t count, Seen& seen) {
      sharing.step(what);
      const auto answers = sharing.measure(tenants, all_burst(count, plan.bursts, round), about_s);
      for (const nlohmann::json& answer : answers) {
        append_ms(seen.bursts_ms, answer.at("bursts_s"));
        append_ms(seen.begins_ms, answer.at("begins_s"));
      }
      seen.seconds.push_back(slowest(answers));
    };
    measure("alone", bare, 1, alone);
    measure("nvshare, one tenant", shared, 1, daemon_one);
    measure("nvshare, three tenants", shared, kTenants, daemon_all);
    measure("driver, three tenants", bare, kTenants, driver_all);
  }
  sharing.add("one tenant alone", alone.seconds, "s");
  add_bursts(sharing, "one tenant alone", alone);
  const auto add = [&](const std::string& who, const char* of, const Seen& seen,
                       std::optional<Target> target) {
    sharing.add(who + of, percent_of(alone, seen), "%", target);
    add_bursts(sharing, who, seen);
  };
  add("one tenant, nvshare", ", of alone", daemon_one, kTogether);
  add("3 tenants, nvshare", ", the slowest of alone", daemon_all, kTogether);
  add("3 tenants, driver", ", the slowest of alone", driver_all, std::nullopt);
}

}  // namespace nvs::bench
