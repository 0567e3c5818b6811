// SPDX-License-Identifier: Apache-2.0
// The case `pair-python`. Pairs of PyTorch processes: loading PyTorch takes longer than measuring
// it, so each is loaded once and works when it is its turn.
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "bench/cases/pair_case.h"
#include "bench/cases/pair_part.h"
#include "bench/python_program.h"
#include "bench/python_turns.h"

namespace nvs::bench {
namespace pair_case {
namespace {

constexpr std::array<const char*, 2> kPythonKinds = {"mm", "add"};
constexpr std::array<std::size_t, 2> kPythonTenantCounts = {2, 4};
constexpr std::size_t kPythonTenantsMax = 4;

// Shares are counted in whole windows, of which there are half as many with twice the tenants.
struct PythonPlan {
  int rounds;
  double short_s;
  double tenant_s;  // of a round under the daemon, for each tenant
};
PythonPlan python_plan_for(const Bench& bench) {
  return bench.quick ? PythonPlan{1, 2, 2.5} : PythonPlan{2, 3, 4};
}
// tq.py makes its data before the common start.
constexpr double kReadySeconds = 1.5;

class PythonPairs {
 public:
  PythonPairs(Sharing& sharing, const PythonPrograms& python, const std::string& kind)
      : sharing_(sharing), kind_(kind), plan_(python_plan_for(sharing.bench())) {
    sharing_.begin_section("PyTorch, tq.py " + kind);
    sharing_.step(fmt::format("tq.py {}, loading", kind));
    for (std::size_t i = 0; i < kPythonTenantsMax; ++i) {
      bare_.push_back(std::make_unique<PythonTurns>(python.tq(), kind, bare_tenant()));
      shared_.push_back(
          std::make_unique<PythonTurns>(python.tq(), kind, sharing.daemon().tenant()));
    }
    for (const Processes* processes : {&bare_, &shared_}) {
      for (const auto& process : *processes) process->wait_until_ready();
    }
  }

  void measure() {
    std::vector<double> alone_rates;
    std::array<Run, kPythonTenantCounts.size()> windows;
    std::array<Run, kPythonTenantCounts.size()> slicing;
    for (int round = 0; round < plan_.rounds; ++round) {
      sharing_.step(fmt::format("tq.py {} alone", kind_));
      const double alone = bare_[0]->rate(plan_.short_s);
      alone_rates.push_back(alone);
      for (std::size_t i = 0; i < kPythonTenantCounts.size(); ++i) {
        const std::size_t tenants = kPythonTenantCounts[i];
        sharing_.step(fmt::format("tq.py {}, nvshare, {} tenants", kind_, tenants));
        together(windows[i], shared_, tenants, plan_.tenant_s * static_cast<double>(tenants),
                 alone);
        sharing_.step(fmt::format("tq.py {}, driver, {} tenants", kind_, tenants));
        together(slicing[i], bare_, tenants, plan_.short_s, alone);
      }
    }
    sharing_.add("one tenant alone", alone_rates, "it/s");
    for (std::size_t i = 0; i < kPythonTenantCounts.size(); ++i) {
      add_rows(sharing_, windows[i], fmt::format("{} tenants, nvshare", kPythonTenantCounts[i]),
               Judged::total_and_shares);
      add_rows(sharing_, slicing[i], fmt::format("{} tenants, driver", kPythonTenantCounts[i]),
               Judged::nothing);
    }
  }

 private:
  using Processes = std::vector<std::unique_ptr<PythonTurns>>;

  static void together(Run& run, Processes& processes, std::size_t count, double seconds,
                       double alone) {
    const double at = unix_seconds() + kReadySeconds;
    for (std::size_t i = 0; i < count; ++i) processes[i]->start(seconds, at);
    std::vector<double> rates;
    for (std::size_t i = 0; i < count; ++i) rates.push_back(processes[i]->finish());
    const double total = std::accumulate(rates.begin(), rates.end(), 0.0);
    run.shares.add_round(std::move(rates));
    run.percent.push_back(100 * total / alone);
  }

  Sharing& sharing_;
  std::string kind_;
  PythonPlan plan_;
  Processes bare_;
  Processes shared_;
};

int python_steps(const Bench& bench) {
  const auto each_round = static_cast<int>(1 + 2 * kPythonTenantCounts.size());
  return static_cast<int>(kPythonKinds.size()) * (1 + python_plan_for(bench).rounds * each_round);
}

}  // namespace
}  // namespace pair_case

void PairPythonCase::run(const Bench& bench) const {
  using namespace pair_case;
  expect_python(bench);
  Progress progress(name(), python_steps(bench));
  Sharing sharing(bench, progress);
  const std::unique_ptr<PythonPrograms> python = python_programs(sharing);
  if (!python) return;
  for (const char* kind : kPythonKinds) PythonPairs(sharing, *python, kind).measure();
}

}  // namespace nvs::bench
