// SPDX-License-Identifier: Apache-2.0
// What the parts of the cases `overhead` and `overhead-python` share (each part is a file of its
// own): the program that makes the calls, how to start it with and without the library, and how
// both sorts of runs are compared.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/child.h"
#include "bench/progress.h"

namespace nvs::bench::overhead_case {

enum class Preload { kBare, kLibrary };

struct Started {
  std::unique_ptr<Child> child;
  nlohmann::json greeting;
};

struct Part {
  const Bench& bench;
  Progress& progress;
  std::string library;  // with its whole path, links resolved
  std::string program;
  Child::Environment environment;  // of both kinds of children

  // Starts the program and waits for the first that it says. Throws Failure if the library should
  // be in the process and is not, or the other way round.
  Started start(Preload preload, const char* role) const;
};

// The parts, and how many steps of progress they are in all.
void count_instructions(const Part& part);
// `condition` ends the section's title.
void measure_rates(const Part& part, const std::string& condition);
inline constexpr int kRateRounds = 7;
// One tenant under the daemon: rates as above, and kernels that fill the GPU.
void measure_under_daemon(const Part& part);
inline int steps(const Bench& bench) { return bench.quick ? 2 : 3 + 2 * kRateRounds; }

// What one tenant under the daemon must have, in percent of bare.
inline const Target kFillsTheGpu = {99.5, std::nullopt};
inline const Target kLaunchBound = {98.5, std::nullopt};

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

}  // namespace nvs::bench::overhead_case
