// SPDX-License-Identifier: Apache-2.0
// What the parts of the case `overhead` share (each part is a file of its own): the program that
// makes the calls, and how to start it with and without the library.
#pragma once

#include <memory>
#include <string>

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
// One tenant under the daemon: rates as above, kernels that fill the GPU, and PyTorch.
void measure_under_daemon(const Part& part);
int daemon_steps(const Bench& bench);
inline int steps(const Bench& bench) {
  return bench.quick ? 2 : 2 + kRateRounds + daemon_steps(bench);
}

}  // namespace nvs::bench::overhead_case
