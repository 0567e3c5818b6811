// SPDX-License-Identifier: Apache-2.0
// How fast the same loops run with the library, as a share of bare. Both kinds of process are new
// in each round and take turns in coming first, so that drift cancels, and so does the luck of
// where a process lies in memory.
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/overhead_part.h"
#include "bench/overhead_probe.h"

namespace nvs::bench::overhead_case {
namespace {

constexpr double kWindowSeconds = 0.4;
constexpr double kAnswerSeconds = 30;
// Of bare, in percent. The simulator is no judge: its own threads take the same processors.
const Target kLaunchBound = {98.5, std::nullopt};

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

using Rates = std::map<std::string, double>;

Rates measure(const Part& part, Preload preload) {
  const std::unique_ptr<Child> child = part.start(preload, kRateRole).child;
  Rates rates;
  for (const Loop& loop : kLoops) {
    child->send({{"action", loop.action}, {"window_s", kWindowSeconds}});
    rates[loop.action] = child->receive(kAnswerSeconds).at("rate").get<double>();
  }
  return rates;
}

}  // namespace

void measure_rates(const Part& part) {
  std::map<std::string, std::vector<double>> percent;
  for (int round = 0; round < kRateRounds; ++round) {
    part.progress.step("rates, bare and with the library by turns");
    const bool bare_first = round % 2 == 0;
    const Rates first = measure(part, bare_first ? Preload::kBare : Preload::kLibrary);
    const Rates second = measure(part, bare_first ? Preload::kLibrary : Preload::kBare);
    const Rates& bare = bare_first ? first : second;
    const Rates& with = bare_first ? second : first;
    for (const auto& [action, rate] : bare) percent[action].push_back(100 * with.at(action) / rate);
  }
  for (const Loop& loop : kLoops) {
    const bool judged = loop.judged && !part.bench.machine.simulated();
    part.bench.report.add({"Rate with the library, of bare", loop.what,
                           summarize(percent[loop.action]), "%", std::nullopt,
                           judged ? std::optional(kLaunchBound) : std::nullopt, std::nullopt});
  }
}

}  // namespace nvs::bench::overhead_case
