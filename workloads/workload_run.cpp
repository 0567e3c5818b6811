// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "workloads/statistics.h"

namespace nvs::workloads {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Between the T4's 40 multiprocessors and the H200's 132; an A100 has 108, an L4 has 58.
constexpr int kLargeGpuMultiprocessors = 80;

double seconds_since(Clock::time_point start) { return Seconds(Clock::now() - start).count(); }

bool is_over(const RunLimits& limits, std::uint64_t done, double seconds) {
  return (limits.iterations != 0 && done >= limits.iterations) ||
         (limits.seconds > 0 && seconds >= limits.seconds);
}

}  // namespace

RunLimits limits_for(const WorkloadKind& kind, const RunRequest& request, int multiprocessors,
                     double time_factor) {
  const Pace& pace = multiprocessors >= kLargeGpuMultiprocessors ? kind.large_gpu : kind.small_gpu;
  const double size = static_cast<double>(request.bytes) / static_cast<double>(kind.bytes);
  RunLimits limits{.iterations = request.iterations,
                   .seconds = request.seconds,
                   .sync_every = kind.sync_every,
                   .sleep_seconds = pace.sleep_seconds * size * time_factor};
  if (request.iterations == 0 && request.seconds <= 0) {
    const double wanted = std::round(static_cast<double>(pace.iterations) * request.length);
    limits.iterations = static_cast<std::uint64_t>(std::max(1.0, wanted));
  }
  return limits;
}

Progress progress_of(const RunLimits& limits, std::uint64_t done, double seconds) {
  Progress progress{.done = done,
                    .total = limits.iterations,
                    .fraction = 0,
                    .seconds = seconds,
                    .rate = per_second(static_cast<double>(done), seconds)};
  if (limits.iterations != 0) {
    progress.fraction = static_cast<double>(done) / static_cast<double>(limits.iterations);
  }
  if (limits.seconds > 0) progress.fraction = std::max(progress.fraction, seconds / limits.seconds);
  return progress;
}

ResultStatus run_workload(const Gpu& gpu, Workload& workload, const RunLimits& limits,
                          const std::function<void(const Status&)>& report) {
  const Clock::time_point start = Clock::now();
  std::uint64_t done = 0;
  while (!is_over(limits, done, seconds_since(start))) {
    for (unsigned i = 0; i < limits.sync_every && !is_over(limits, done, 0); ++i, ++done) {
      workload.iterate();
    }
    gpu.synchronize();
    report(progress_of(limits, done, seconds_since(start)));
    if (limits.sleep_seconds > 0) {
      std::this_thread::sleep_for(Seconds(limits.sleep_seconds));
    }
  }
  const double seconds = seconds_since(start);
  report(VerifyingStatus{progress_of(limits, done, seconds)});
  const Clock::time_point verify_start = Clock::now();
  const std::string message = workload.verify();
  return {.pass = message.empty(),
          .iterations = done,
          .seconds = seconds,
          .rate = per_second(static_cast<double>(done), seconds),
          .verify_seconds = seconds_since(verify_start),
          .message = message};
}

}  // namespace nvs::workloads
