// SPDX-License-Identifier: Apache-2.0
// The case `overhead-python`: PyTorch with the GPU to itself, under the daemon and bare by turns.
#include <array>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "bench/cases/overhead_case.h"
#include "bench/cases/overhead_part.h"
#include "bench/cases/sharing_part.h"
#include "bench/python_program.h"
#include "bench/python_turns.h"

namespace nvs::bench {
namespace overhead_case {
namespace {

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
    {"mm", kFillsTheGpu, 1, 10, 1.5},
    {"add", kFillsTheGpu, 1, 10, 1.5},
}};

std::vector<double> percents_of_bare(const PythonPrograms& python, const PythonKind& kind,
                                     const Child::Environment& tenant) {
  std::vector<double> percents;
  for (int process = 0; process < kind.processes; ++process) {
    PythonTurns bare(python.tq(), kind.name, bare_tenant());
    PythonTurns shared(python.tq(), kind.name, tenant);
    const std::vector<double> some = by_turns(
        kind.turns, [&] { return bare.rate(kind.seconds); },
        [&] { return shared.rate(kind.seconds); });
    percents.insert(percents.end(), some.begin(), some.end());
  }
  return percents;
}

}  // namespace
}  // namespace overhead_case

void OverheadPythonCase::run(const Bench& bench) const {
  using namespace overhead_case;
  expect_python(bench);
  Progress progress(name(), static_cast<int>(kPythonKinds.size()));
  Sharing sharing(bench, progress);
  const std::unique_ptr<PythonPrograms> python = python_programs(sharing);
  if (!python) return;
  sharing.begin_section("One tenant under the daemon, of bare");
  for (const PythonKind& kind : kPythonKinds) {
    sharing.step(fmt::format("tq.py {}", kind.name));
    sharing.add(fmt::format("PyTorch, tq.py {}", kind.name),
                percents_of_bare(*python, kind, sharing.daemon().tenant()), "%", kind.target);
  }
}

}  // namespace nvs::bench
