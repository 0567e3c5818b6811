// SPDX-License-Identifier: Apache-2.0
// One tenant under the daemon, with nobody else there: its gate is open and nothing is bounded, so
// it should run as if it were bare.
#include <array>
#include <vector>

#include <fmt/format.h>

#include "bench/cases/overhead_part.h"
#include "bench/cases/sharing_part.h"
#include "bench/python_program.h"

namespace nvs::bench::overhead_case {
namespace {

constexpr int kRounds = 5;
constexpr double kWindowSeconds = 1.5;
const Target kFillsTheGpu = {99.5, std::nullopt};  // percent of bare
const Target kLaunchBound = {98.5, std::nullopt};

struct Kind {
  Work work;
  const char* name;
};
constexpr std::array<Kind, 2> kKinds = {{{Work::kAdd, "add"}, {Work::kMatmul, "matmul"}}};

struct PythonKind {
  const char* name;
  Target target;
};
const std::array<PythonKind, 3> kPythonKinds = {
    {{"tiny", kLaunchBound}, {"mm", kFillsTheGpu}, {"add", kFillsTheGpu}}};
constexpr int kPythonTurns = 5;
constexpr double kPythonSeconds = 3;

// Two kinds of runs by turns; whoever comes first changes from turn to turn. The second in percent
// of the first, from medians.
template <class Bare, class Shared>
double by_turns(int turns, const Bare& bare, const Shared& shared) {
  std::vector<double> bare_rates;
  std::vector<double> shared_rates;
  for (int turn = 0; turn < turns; ++turn) {
    if (turn % 2 == 0) bare_rates.push_back(bare());
    shared_rates.push_back(shared());
    if (turn % 2 == 1) bare_rates.push_back(bare());
  }
  return 100 * median(shared_rates) / median(bare_rates);
}

void measure_kernels(Sharing& sharing) {
  sharing.step("kernels that fill the GPU");
  for (const Kind& kind : kKinds) sharing.add_load(kind.work, kKernelSeconds);
  Tenants bare = sharing.bare_tenants(1);
  Tenants shared = sharing.shared_tenants({"normal"});
  sharing.begin_section("One tenant under the daemon, of bare");
  for (std::size_t load = 0; load < kKinds.size(); ++load) {
    const double percent = by_turns(
        kRounds, [&] { return sharing.rate_alone(bare, load, kWindowSeconds); },
        [&] { return sharing.rate_alone(shared, load, kWindowSeconds); });
    sharing.add(fmt::format("{}, kernels of 1.7 ms", kKinds[load].name), {percent}, "%",
                kFillsTheGpu);
  }
}

void measure_python(Sharing& sharing) {
  const std::unique_ptr<PythonPrograms> python = python_programs(sharing);
  if (!python) return;
  sharing.begin_section("One tenant under the daemon, of bare");
  for (const PythonKind& kind : kPythonKinds) {
    sharing.step(fmt::format("tq.py {}", kind.name));
    const auto rate = [&](const Child::Environment& environment) {
      return python->start(kind.name, kPythonSeconds, {environment}, PythonPrograms::Start::at_once)
          .rates()[0];
    };
    const double percent = by_turns(
        kPythonTurns, [&] { return rate(bare_tenant()); },
        [&] { return rate(sharing.daemon().tenant()); });
    sharing.add(fmt::format("PyTorch, tq.py {}", kind.name), {percent}, "%", kind.target);
  }
}

}  // namespace

int daemon_steps(const Bench& bench) {
  return 1 + kRateRounds + (bench.python.empty() ? 0 : static_cast<int>(kPythonKinds.size()));
}

void measure_under_daemon(const Part& part) {
  Sharing sharing(part.bench, part.progress);
  Part under_daemon = part;
  for (const auto& [name, value] : sharing.daemon().tenant())
    under_daemon.environment[name] = value;
  measure_rates(under_daemon, ", under the daemon");
  measure_kernels(sharing);
  measure_python(sharing);
}

}  // namespace nvs::bench::overhead_case
