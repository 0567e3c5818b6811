// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/nvml/process_history.h"

#include <algorithm>
#include <chrono>

namespace nvs::nvml {
namespace {

std::uint64_t busy_before(const std::vector<GpuProcess>& earlier, const GpuProcess& process) {
  const auto same = [&](const GpuProcess& other) { return other.pid == process.pid; };
  const auto found = std::find_if(earlier.begin(), earlier.end(), same);
  // A smaller total belongs to another process that had the same pid.
  return found == earlier.end() || found->busy_ns > process.busy_ns ? 0 : found->busy_ns;
}

}  // namespace

Moment now() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  const auto wall_us = std::chrono::duration_cast<std::chrono::microseconds>(wall).count();
  return {.at = sim::now_ns(), .wall_us = static_cast<std::uint64_t>(wall_us)};
}

const ProcessHistory::Snapshot* ProcessHistory::baseline(std::uint64_t since_us) const {
  if (snapshots_.empty()) return nullptr;
  const Snapshot* best = &snapshots_.front();
  for (const Snapshot& snapshot : snapshots_) {
    if (snapshot.moment.wall_us <= since_us) best = &snapshot;
  }
  return best;
}

std::optional<std::vector<ProcessShare>> ProcessHistory::shares(
    const Moment& moment, std::uint64_t since_us, const std::vector<GpuProcess>& processes) {
  const std::lock_guard guard{mutex_};
  std::optional<std::vector<ProcessShare>> shares;
  const Snapshot* earlier = baseline(since_us);
  if (earlier != nullptr && moment.at - earlier->moment.at >= kPeriod &&
      since_us < moment.wall_us) {
    shares.emplace();
    const auto elapsed = static_cast<double>(moment.at - earlier->moment.at);
    for (const GpuProcess& process : processes) {
      const std::uint64_t busy = process.busy_ns - busy_before(earlier->processes, process);
      if (busy == 0) continue;
      const double percent = 100 * static_cast<double>(busy) / elapsed;
      shares->push_back(
          {process.pid, static_cast<unsigned>(std::clamp(percent + 0.5, 1.0, 100.0))});
    }
  }
  if (snapshots_.empty() || moment.at - snapshots_.back().moment.at >= kPeriod) {
    snapshots_.push_back({moment, processes});
    while (snapshots_.front().moment.at < moment.at - kWindow) snapshots_.pop_front();
  }
  return shares;
}

}  // namespace nvs::nvml
