// SPDX-License-Identifier: Apache-2.0
// nvshare-bench: runs cases and shows what they measured. See README.md for how to add one.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "bench/case.h"
#include "bench/child.h"
#include "bench/failure.h"
#include "bench/machine.h"
#include "bench/options.h"
#include "bench/program.h"
#include "bench/python_turns.h"
#include "bench/report.h"
#include "bench/temporary_folder.h"
#include "bench/tenants.h"

namespace nvs::bench {
namespace {

// A driver that hangs cannot be asked to stop, so the promise that a case ends is kept by force.
// Children see the end of their parent. Only calls that are safe in a signal handler are made.
void out_of_time(int) {
  static const char text[] = "\nnvshare-bench: the case did not end in its time\n";
  [[maybe_unused]] const ssize_t said = ::write(STDERR_FILENO, text, sizeof text - 1);
  remove_temporary_folders();
  ::_exit(kExitFailed);
}

bool run_case(const Machine& machine, const Case& item, const Options& options) {
  ::alarm(kCaseSeconds);
  Report report({item.name(), machine.description()}, options.format, stdout);
  try {
    item.run({machine, options.quick, options.library, options.python, report, now_ns()});
  } catch (const std::exception&) {
    // What was measured before is shown all the same.
    report.finish();
    throw;
  }
  ::alarm(0);
  report.finish();
  return report.acceptable();
}

// The cases of one run share a machine, so they all get the time and the GPUs of the one that needs
// most, and the first one says which GPUs.
SimulatorOptions simulator_for(const Options& options) {
  SimulatorOptions result = options.simulator;
  double needed = 1;
  unsigned gpus = 1;
  for (const std::string& name : options.cases) {
    needed = std::max(needed, find_case(name)->time_factor());
    gpus = std::max(gpus, find_case(name)->gpus());
  }
  if (!result.time_factor) result.time_factor = needed;
  if (!result.gpus && gpus > 1) result.gpus = gpus;
  if (result.preset.empty()) result.preset = find_case(options.cases.front())->preset();
  return result;
}

int run(const Options& options) {
  std::string remark;
  const Machine machine = Machine::open(options.backend, simulator_for(options), remark);
  if (!remark.empty()) fmt::print(stderr, "nvshare-bench: {}\n", remark);
  bool acceptable = true;
  for (const std::string& name : options.cases) {
    acceptable = run_case(machine, *find_case(name), options) && acceptable;
  }
  const std::string violations = machine.violations();
  if (!violations.empty()) {
    throw Failure(fmt::format("the simulator recorded violations:\n{}", violations));
  }
  return options.check && !acceptable ? kExitMissed : kExitOk;
}

int main_with(const std::vector<std::string>& arguments) {
  // A child that is gone must be an error message, not the end of its parent.
  ::signal(SIGPIPE, SIG_IGN);
  if (arguments.size() == 2 && arguments[0] == "--child") {
    return child_main({{kTenantRole, run_tenant},
                       {kProgramRole, run_program},
                       {kPythonTurnsRole, run_python_turns}},
                      arguments[1]);
  }
  ::signal(SIGALRM, out_of_time);
  remove_temporary_folders_on_signals();
  const tl::expected<Options, EarlyExit> options = parse_options(arguments, case_names());
  if (!options) {
    const EarlyExit& exit = options.error();
    fmt::print(exit.code == kExitOk ? stdout : stderr, "{}", exit.text);
    return exit.code;
  }
  if (options->list) {
    fmt::print("{}", list_of(case_names()));
    return kExitOk;
  }
  try {
    return run(*options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "nvshare-bench: {}\n", error.what());
    return kExitFailed;
  }
}

}  // namespace
}  // namespace nvs::bench

int main(int argc, char** argv) {
  return nvs::bench::main_with(std::vector<std::string>(argv + 1, argv + argc));
}
