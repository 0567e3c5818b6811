// SPDX-License-Identifier: Apache-2.0
// Looks for NVML again and again where there was none when the daemon started: the driver may come
// later, and without it no size is known, so that nothing is ever moved out of a GPU. A thread
// does, since a driver that is being loaded may take seconds for an answer, or hang.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/instant.h"
#include "daemon/memory_watch.h"
#include "nvml/gpus.h"

namespace nvs::daemon {

class GpuSearch {
 public:
  // The first look is after `first`, and each pause is twice the one before, `longest` at most.
  // Nothing where there can be no thread.
  static std::unique_ptr<GpuSearch> start(Duration first, Duration longest);
  // Waits for the thread as MemoryWatch does.
  ~GpuSearch();
  GpuSearch(const GpuSearch&) = delete;
  GpuSearch& operator=(const GpuSearch&) = delete;

  struct Found {
    std::vector<Gpu> gpus;
    std::unique_ptr<MemoryWatch> watch;
    std::string remarks;  // lines
  };
  // Readable once take() has something.
  int fd() const;
  std::optional<Found> take();

  // As of MemoryWatch.
  static bool has_left_thread();

 private:
  struct Shared;

  GpuSearch(std::shared_ptr<Shared> shared, std::thread thread);

  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this object
  std::thread thread_;
};

}  // namespace nvs::daemon
