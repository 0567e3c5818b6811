// SPDX-License-Identifier: Apache-2.0
// Asks NVML once in a while how much memory of each GPU is free, who has it, and how busy it is. A
// thread does: while the driver makes memory for others the answer takes long (on an H200 up to 144
// ms, else 5 us), and no window must wait for that.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "nvml/gpus.h"
#include "nvml/nvml.h"
#include "os/wake_event.h"

namespace nvs::daemon {

class MemoryWatch {
 public:
  // Of these GPUs, as far as NVML finds them; `remarks` gets a line for each that it does not.
  // Nothing if there is none to watch.
  static std::unique_ptr<MemoryWatch> start(const std::vector<Gpu>& gpus, Duration every,
                                            std::string& remarks);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  struct Reading {
    UuidBytes gpu;
    std::uint64_t free_bytes;
    std::optional<double> busy_part;  // of the last second or so
    // In the order of their pids; nothing: NVML does not tell.
    std::optional<std::vector<ProcessMemory>> processes;
  };
  // Readable while take() has something.
  int fd() const { return event_.fd(); }
  // The latest ones.
  std::vector<Reading> take();

 private:
  using Watched = std::pair<UuidBytes, nvmlDevice_t>;

  MemoryWatch(Nvml nvml, std::vector<Watched> gpus, Duration every, os::WakeEvent event);
  void run();
  std::vector<Reading> read() const;
  void post(std::vector<Reading> readings);

  Nvml nvml_;
  std::vector<Watched> gpus_;
  Duration every_;
  os::WakeEvent event_;
  std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  std::vector<Reading> readings_;
  bool is_stopping_ = false;
  std::thread thread_;  // the owner's alone
};

}  // namespace nvs::daemon
