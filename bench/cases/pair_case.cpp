// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/pair_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "bench/cases/pair_part.h"

namespace nvs::bench {
namespace pair_case {
namespace {

struct Kind {
  Work work;
  double kernel_s;
  const char* title;
};
constexpr std::array<Kind, 3> kKinds = {{
    {Work::kAdd, kKernelSeconds, "add, kernels of 1.7 ms"},
    {Work::kMatmul, kKernelSeconds, "matmul, kernels of 1.7 ms"},
    {Work::kMatmul, 0.0068, "matmul, kernels of 6.8 ms"},
}};
constexpr std::array<std::size_t, 2> kTenantCounts = {2, 4};
constexpr std::size_t kTenantsMax = 4;

// A small request in a closed loop may take up to half of the GPU from a saturating tenant.
const Target kBesideRequests = {49, std::nullopt};

// Seconds are nominal. A share is counted in whole windows, so the daemon's rounds are the long
// ones, and the longer the more tenants there are: some 60 windows of each, so that one more or
// less in each round is not taken for a share that is not equal.
struct PairPlan {
  std::size_t kinds;
  int rounds;
  double short_s;
  double tenant_s;  // of a round under the daemon, for each tenant

  double daemon_s(std::size_t tenants) const { return tenant_s * static_cast<double>(tenants); }
};
PairPlan pair_plan_for(const Bench& bench) {
  if (bench.quick) return {1, 1, 0.4, 0.4};
  return bench.machine.simulated() ? PairPlan{kKinds.size(), 2, 1, 5}
                                   : PairPlan{kKinds.size(), 3, 1.5, 4.5};
}

void count(Run& run, const std::vector<nlohmann::json>& answers, double window_s, double alone) {
  std::vector<double> work;
  double total = 0;
  for (const nlohmann::json& answer : answers) {
    total += rate_in_window(answer, window_s);
    work.push_back(answer.at("count").get<double>());
  }
  run.shares.add_round(std::move(work));
  run.percent.push_back(100 * total / alone);
}

std::vector<Task> all_saturate(std::size_t tenants, std::size_t load) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < tenants; ++i) tasks.push_back(saturating(i, load));
  return tasks;
}

class Pairs {
 public:
  Pairs(Sharing& sharing, const PairPlan& plan)
      : sharing_(sharing),
        plan_(plan),
        bare_(sharing.bare_tenants(kTenantsMax)),
        shared_(sharing.shared_tenants(std::vector<std::string>(kTenantsMax, "normal"))) {}

  void measure(std::size_t load) {
    sharing_.begin_section(kKinds.at(load).title);
    std::array<Run, kTenantCounts.size()> windows;
    std::array<Run, kTenantCounts.size()> slicing;
    std::vector<double> alone_ms;
    for (int round = 0; round < plan_.rounds; ++round) {
      sharing_.step("alone");
      const double alone = sharing_.rate_alone(bare_, load, plan_.short_s);
      alone_ms.push_back(1e3 / alone);
      for (std::size_t i = 0; i < kTenantCounts.size(); ++i) {
        under_daemon(windows[i], kTenantCounts[i], load, alone);
        under_driver(slicing[i], kTenantCounts[i], load, alone);
      }
    }
    sharing_.add("one tenant alone, one kernel", alone_ms, "ms");
    // A quick round is some ten windows of each, and one more or less is no unfairness.
    const Judged judged = sharing_.bench().quick ? Judged::total : Judged::total_and_shares;
    for (std::size_t i = 0; i < kTenantCounts.size(); ++i) {
      add_rows(sharing_, windows[i], fmt::format("{} tenants, nvshare", kTenantCounts[i]), judged);
      add_rows(sharing_, slicing[i], fmt::format("{} tenants, driver", kTenantCounts[i]),
               Judged::nothing);
    }
  }

  void measure_requests(std::size_t load) {
    sharing_.step("requests in a closed loop");
    const double alone = sharing_.rate_alone(bare_, load, plan_.short_s);
    add_requests(shared_, "nvshare", alone, load, kBesideRequests);
    add_requests(bare_, "driver", alone, load, std::nullopt);
  }

 private:
  void under_daemon(Run& run, std::size_t tenants, std::size_t load, double alone) {
    sharing_.step(fmt::format("nvshare, {} tenants", tenants));
    const double before = sharing_.daemon().switches();
    const Stopwatch watch(sharing_.machine());
    const double window_s = plan_.daemon_s(tenants);
    count(run, sharing_.measure(shared_, all_saturate(tenants, load), window_s), window_s, alone);
    run.switches.push_back((sharing_.daemon().switches() - before) / watch.seconds());
  }

  void under_driver(Run& run, std::size_t tenants, std::size_t load, double alone) {
    sharing_.step(fmt::format("the driver's slicing, {} tenants", tenants));
    const double window_s = plan_.short_s;
    count(run, sharing_.measure(bare_, all_saturate(tenants, load), window_s), window_s, alone);
  }

  void add_requests(Tenants& tenants, const std::string& who, double alone, std::size_t load,
                    std::optional<Target> target) {
    sharing_.begin_section("A closed loop of tiny requests beside a saturating tenant");
    const double window_s = plan_.daemon_s(2);
    const std::vector<nlohmann::json> answers =
        sharing_.measure(tenants, {requesting(0), saturating(1, load)}, window_s);
    sharing_.add(who + ", the saturating one, of alone",
                 {100 * rate_in_window(answers[1], window_s) / alone}, "%", target);
    sharing_.add(who + ", requests, p50", {answers[0].at("p50_s").get<double>() * 1e6}, "us");
    sharing_.add(who + ", requests, p99", {answers[0].at("p99_s").get<double>() * 1e6}, "us");
  }

  Sharing& sharing_;
  PairPlan plan_;
  Tenants bare_;
  Tenants shared_;
};

int steps(const PairPlan& plan) {
  const auto each_round = 1 + 2 * static_cast<int>(kTenantCounts.size());
  return 2 + plan.rounds * static_cast<int>(plan.kinds) * each_round;
}

}  // namespace

Target total_target(const Sharing& sharing) {
  // The simulator's host is small: what it runs on its processors is not the GPU's fault.
  return {sharing.machine().simulated() ? 97.0 : 99.0, std::nullopt};
}

double farthest_from_equal(const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const double equal = sum / static_cast<double>(shares.size());
  double farthest = 0;
  for (const double share : shares) farthest = std::max(farthest, std::fabs(share / equal - 1));
  return 100 * farthest;
}

double Shares::farthest_in_all() const {
  std::vector<double> sums(rounds_.front().size());
  for (const std::vector<double>& round : rounds_) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += round[i];
  }
  return farthest_from_equal(sums);
}

double Shares::farthest_in_one_round() const {
  double farthest = 0;
  for (const std::vector<double>& round : rounds_) {
    farthest = std::max(farthest, farthest_from_equal(round));
  }
  return farthest;
}

// What is judged is all rounds together. A round is some 56 windows of 80 ms for each tenant: one
// more or less is 1.8 % already, and where it begins and ends in the middle of somebody's window is
// chance. So a single round says nothing about 2 %; but its row shows shares that are unequal now
// one way and then the other.
void add_rows(Sharing& sharing, const Run& run, const std::string& who, Judged judged) {
  sharing.add(who + ", total of one alone", run.percent, "%",
              judged == Judged::nothing ? std::nullopt : std::optional(total_target(sharing)));
  sharing.add(who + ", farthest from equal share", {run.shares.farthest_in_all()}, "%",
              judged == Judged::total_and_shares ? std::optional(kShareTarget) : std::nullopt);
  if (run.shares.rounds() > 1) {
    sharing.add(who + ", farthest in one round", {run.shares.farthest_in_one_round()}, "%");
  }
  if (!run.switches.empty()) sharing.add(who + ", switches", run.switches, "1/s");
}

}  // namespace pair_case

void PairCase::run(const Bench& bench) const {
  using namespace pair_case;
  const PairPlan plan = pair_plan_for(bench);
  Progress progress(name(), steps(plan));
  Sharing sharing(bench, progress);
  sharing.step("kernels and tenants");
  for (std::size_t i = 0; i < plan.kinds; ++i) {
    sharing.add_load(kKinds.at(i).work, kKinds.at(i).kernel_s);
  }
  Pairs pairs(sharing, plan);
  for (std::size_t load = 0; load < plan.kinds; ++load) pairs.measure(load);
  pairs.measure_requests(0);
}

}  // namespace nvs::bench
