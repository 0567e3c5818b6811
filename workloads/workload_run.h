// SPDX-License-Identifier: Apache-2.0
// The loop that all workloads share: iterate, wait for the GPU now and then as a normal program
// does, sleep if the workload is an idle one, stop in time, check the data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "workloads/status.h"
#include "workloads/workload.h"

namespace nvs::workloads {

struct RunLimits {
  std::uint64_t iterations = 0;  // zero: as many as the time allows
  double seconds = 0;            // zero: no limit
  unsigned sync_every = 1;
  double sleep_seconds = 0;  // after each wait
};

// What the command line asks for; zero means that it does not.
struct RunRequest {
  std::uint64_t bytes = 0;  // nominal
  std::uint64_t iterations = 0;
  double seconds = 0;
  double length = 1;
};

// A number of iterations, a time, whichever is first of both, or for neither the usual number for a
// GPU of that many multiprocessors, `length` times. How long an idle workload sleeps is fixed by
// its size alone: a person does not think longer because the GPU is busy.
RunLimits limits_for(const WorkloadKind& kind, const RunRequest& request, int multiprocessors,
                     double time_factor);

// How far a run is, by iterations or by time, whichever will end it first.
Progress progress_of(const RunLimits& limits, std::uint64_t done, double seconds);

// Reports progress at each wait. Throws CudaError; a failed check is a result.
ResultStatus run_workload(const Gpu& gpu, Workload& workload, const RunLimits& limits,
                          const std::function<void(const Status&)>& report);

}  // namespace nvs::workloads
