// SPDX-License-Identifier: Apache-2.0
// Runs workloads side by side, each in a process of its own as tenants are: waits until all have
// their memory, lets them start at the same moment, follows them, and collects what each one says
// at its end.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "workloads/status.h"

namespace nvs::workloads {

struct TenantSpec {
  std::string label;
  int gpu = 0;
  // Of nvshare-workload: the workload's name, then options. Label, GPU and status come from here.
  std::vector<std::string> arguments;
  // NAME=value, on top of this process's environment: LD_PRELOAD=..., NVSHARE_SIM_PRESET=...
  std::vector<std::string> environment;
};

enum class Phase { kStarting, kReady, kRunning, kVerifying, kEnded };

struct Tenant {
  TenantSpec spec;
  pid_t pid = 0;
  Phase phase = Phase::kStarting;
  ReadyStatus ready{};     // from kReady on
  Progress progress{};     // from kRunning on
  ResultStatus result{};   // at kEnded; a tenant that died has a message and no PASS
  bool timed_out = false;  // it was killed because its time was up
  std::string output{};    // the end of what it printed, for a person to read when it failed
};

// The message of a tenant that was killed because the run was cancelled.
inline constexpr const char* kCancelled = "cancelled";

struct RunnerOptions {
  // Empty: nvshare-workload in the folder of the running program.
  std::string workload_program;
  // A tenant that is not done so long after the first one was started is killed; zero: never.
  double timeout_seconds = 0;
  // Called several times a second, and at each change of a phase.
  std::function<void(std::span<const Tenant>)> on_update;
  // Asked several times a second and after each signal: true kills all tenants and ends the run.
  std::function<bool()> is_cancelled;
};

// Returns when all tenants have ended; what became of each is in its result. An error means that a
// process could not be started at all.
Result<std::vector<Tenant>> run_tenants(const std::vector<TenantSpec>& specs,
                                        const RunnerOptions& options);

// The folder of the running program, for finding what was built beside it.
std::string own_folder();

}  // namespace nvs::workloads
