// SPDX-License-Identifier: Apache-2.0
// Tenants that are programs of their own, with gigabytes of data that they check at their end:
// nvshare-workload, started together, followed while they run. A benchmark sees when each of them
// got something done, and that none of them lost a byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "bench/child.h"
#include "bench/machine.h"
#include "workloads/runner.h"

namespace nvs::bench {

struct WorkloadTenant {
  std::string label;
  std::vector<std::string> arguments;  // of nvshare-workload
  Child::Environment environment;
  int gpu = 0;
};

// How much was done by when: nominal seconds since the common start. Points are no closer than a
// tenth of a second on the wall clock.
struct WorkloadPoint {
  double at_s = 0;
  double done = 0;
};

struct WorkloadResult {
  pid_t pid = 0;
  double iterations = 0;
  double seconds = 0;         // nominal, from the common start to the end of the last iteration
  double verify_seconds = 0;  // nominal; its data is checked after that
  std::vector<WorkloadPoint> points;

  // The longest time without progress, to some tenths of a second.
  double longest_gap() const;
  // Iterations a nominal second from that time on; 0 if there is too little to tell.
  double rate_from(double from_s) const;
};

struct WorkloadRun {
  std::vector<WorkloadResult> tenants;  // in the order in which they were named
  // When all were at work, on the clock of now_ns.
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
  // The same tenants as the runner tells of them, in nominal seconds: for its table.
  std::vector<workloads::Tenant> ended;

  double makespan() const;     // nominal seconds until the last one was done
  double longest_gap() const;  // of any of them
};

enum class Ending {
  kVerified,  // all data is checked
  kCut,       // once all have done their iterations they are killed: checking would take too long
};

// Throws Failure if one of them fails or is not done in time; `timeout_s` is on the wall clock and
// holds for preparing and checking too.
WorkloadRun run_workloads(const Machine& machine, const std::vector<WorkloadTenant>& tenants,
                          double timeout_s, Ending ending = Ending::kVerified);

}  // namespace nvs::bench
