// SPDX-License-Identifier: Apache-2.0
// How fast the same loops run through the hooks, as a share of the same loops past them, in one
// process and by turns of a fraction of a second. Two processes are no scale for this: on an H200 a
// call that is not hooked differed by 20 percent between them. Each round is a new process, for the
// luck of where things lie in memory.
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/overhead_part.h"
#include "bench/overhead_probe.h"
#include "bench/stats.h"

namespace nvs::bench::overhead_case {
namespace {

constexpr double kRateSeconds = 0.05;
constexpr int kTurns = 10;  // of each kind, in each loop
constexpr double kAnswerSeconds = 30;
// Of bare, in percent. The simulator is no judge: its own threads take the same processors.
const Target kRateLaunchBound = {98.5, std::nullopt};

struct Loop {
  const char* action;
  const char* what;
  bool judged;
};

constexpr std::array<Loop, 4> kLoops = {{
    {kLaunches, "tiny kernels, launch-bound", true},
    {kLaunchAndWait, "tiny kernel and synchronise", false},
    {kAllocations, "cuMemAlloc and cuMemFree, 2 MiB", false},
    {kQueries, "cuEventQuery", false},
}};

double rate_of(Child& child, const Loop& loop, bool hooked) {
  child.send({{"action", loop.action}, {"hooked", hooked}, {"window_s", kRateSeconds}});
  return child.receive(kAnswerSeconds).at("rate").get<double>();
}

// The rate through the hooks, in percent of that past them.
double compare(Child& child, const Loop& loop) {
  std::array<std::vector<double>, 2> rates;  // by hooked
  for (int turn = 0; turn < kTurns; ++turn) {
    const bool first = turn % 2 == 0;
    for (const bool hooked : {first, !first}) {
      rates[hooked ? 1 : 0].push_back(rate_of(child, loop, hooked));
    }
  }
  return 100 * median(rates[1]) / median(rates[0]);
}

}  // namespace

void measure_rates(const Part& part, const std::string& condition) {
  std::map<std::string, std::vector<double>> percent;
  for (int round = 0; round < kRateRounds; ++round) {
    part.progress.step("rates, through the hooks and past them by turns");
    const std::unique_ptr<Child> child = part.start(Preload::kLibrary, kRateRole).child;
    for (const Loop& loop : kLoops) percent[loop.action].push_back(compare(*child, loop));
  }
  for (const Loop& loop : kLoops) {
    const bool judged = loop.judged && !part.bench.machine.simulated();
    part.bench.report.add({"Rate through the hooks, of past them" + condition, loop.what,
                           summarize(percent[loop.action]), "%", std::nullopt,
                           judged ? std::optional(kRateLaunchBound) : std::nullopt, std::nullopt});
  }
}

}  // namespace nvs::bench::overhead_case
