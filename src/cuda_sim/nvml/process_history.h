// SPDX-License-Identifier: Apache-2.0
// How much of a GPU each process used lately. The machine's books only hold totals, so the totals
// of earlier calls are remembered here and a share is the difference between two of them.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "cuda_sim/machine/clock.h"
#include "cuda_sim/nvml/process_books.h"

namespace nvs::nvml {

/// A moment on the machine's clock, and as NVML shows it to programs: microseconds since 1970.
struct Moment {
  sim::Nanos at = 0;
  std::uint64_t wall_us = 0;
};

Moment now();

struct ProcessShare {
  unsigned pid = 0;
  unsigned percent = 0;  // at least 1: idle processes have no share
};

class ProcessHistory {
 public:
  /// A share is measured over at least this time; calls in quicker succession find nothing new.
  static constexpr sim::Nanos kPeriod = 100'000'000;
  /// What is older is forgotten.
  static constexpr sim::Nanos kWindow = 15'000'000'000;

  /// Remembers `processes` as they are at `moment`, and returns who used the GPU between the time
  /// `since_us` (or the oldest one remembered) and then. Nothing if that is no time at all.
  std::optional<std::vector<ProcessShare>> shares(const Moment& moment, std::uint64_t since_us,
                                                  const std::vector<GpuProcess>& processes);

 private:
  struct Snapshot {
    Moment moment;
    std::vector<GpuProcess> processes;
  };

  const Snapshot* baseline(std::uint64_t since_us) const;

  std::mutex mutex_;  // guards the rest
  std::deque<Snapshot> snapshots_;
};

}  // namespace nvs::nvml
