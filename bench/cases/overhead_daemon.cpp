// SPDX-License-Identifier: Apache-2.0
// One tenant under the daemon, with nobody else there: its gate is open and nothing is bounded, so
// it should run as if it were bare.
#include <array>
#include <vector>

#include <fmt/format.h>

#include "bench/cases/overhead_part.h"
#include "bench/cases/sharing_part.h"
#include "bench/python_program.h"
#include "bench/python_turns.h"

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

// What launches as fast as the processor can differs by 20 percent between two processes, and in
// one of them from second to second: short turns, many of them, and several processes.
struct PythonKind {
  const char* name;
  Target target;
  int processes;  // of each sort
  int turns;
  double seconds;
};
const std::array<PythonKind, 3> kPythonKinds = {{
    {"tiny", kLaunchBound, 4, 60, 0.1},
    {"mm", kFillsTheGpu, 1, 5, 1.5},
    {"add", kFillsTheGpu, 1, 5, 1.5},
}};

// Two kinds of runs by turns; whoever comes first changes from turn to turn. Each of the second
// kind in percent of the first kind's beside it.
template <class Bare, class Shared>
std::vector<double> by_turns(int turns, const Bare& bare, const Shared& shared) {
  std::vector<double> percents;
  for (int turn = 0; turn < turns; ++turn) {
    const bool bare_first = turn % 2 == 0;
    const double first = bare_first ? bare() : shared();
    const double second = bare_first ? shared() : bare();
    percents.push_back(100 * (bare_first ? second / first : first / second));
  }
  return percents;
}

void measure_kernels(Sharing& sharing) {
  sharing.step("kernels that fill the GPU");
  for (const Kind& kind : kKinds) sharing.add_load(kind.work, kKernelSeconds);
  Tenants bare = sharing.bare_tenants(1);
  Tenants shared = sharing.shared_tenants({"normal"});
  sharing.begin_section("One tenant under the daemon, of bare");
  for (std::size_t load = 0; load < kKinds.size(); ++load) {
    const std::vector<double> percents = by_turns(
        kRounds, [&] { return sharing.rate_alone(bare, load, kWindowSeconds); },
        [&] { return sharing.rate_alone(shared, load, kWindowSeconds); });
    sharing.add(fmt::format("{}, kernels of 1.7 ms", kKinds[load].name), percents, "%",
                kFillsTheGpu);
  }
}

void measure_python(Sharing& sharing) {
  const std::unique_ptr<PythonPrograms> python = python_programs(sharing);
  if (!python) return;
  sharing.begin_section("One tenant under the daemon, of bare");
  for (const PythonKind& kind : kPythonKinds) {
    sharing.step(fmt::format("tq.py {}", kind.name));
    std::vector<double> percents;
    for (int process = 0; process < kind.processes; ++process) {
      PythonTurns bare(python->tq(), kind.name, bare_tenant());
      PythonTurns shared(python->tq(), kind.name, sharing.daemon().tenant());
      const std::vector<double> some = by_turns(
          kind.turns, [&] { return bare.rate(kind.seconds); },
          [&] { return shared.rate(kind.seconds); });
      percents.insert(percents.end(), some.begin(), some.end());
    }
    sharing.add(fmt::format("PyTorch, tq.py {}", kind.name), percents, "%", kind.target);
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
