// SPDX-License-Identifier: Apache-2.0
// Asks NVML once in a while how much memory of each GPU is free, who has it, and how busy it is. A
// thread does: while the driver makes memory for others the answer takes long (on an H200 up to 144
// ms, else 5 us), and no window must wait for that. Of a GPU that is broken it may never come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/instant.h"
#include "nvml/gpus.h"
#include "nvml/nvml.h"

namespace nvs::daemon {

class MemoryWatch {
 public:
  // Of these GPUs, as far as NVML finds them; `remarks` gets a line for each that it does not.
  // Nothing if there is none to watch.
  static std::unique_ptr<MemoryWatch> start(const std::vector<Gpu>& gpus, Duration every,
                                            std::string& remarks);
  // Waits for the thread for kMemoryWatchEnd at most. One that sits in NVML for longer is left
  // there, with all that it uses.
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  struct Reading {
    UuidBytes gpu;
    NvmlResult<std::uint64_t> free_bytes;  // an error: nothing else is known either
    std::optional<double> busy_part = {};  // of the last second or so
    // In the order of their pids; nothing: NVML does not tell.
    std::optional<std::vector<ProcessMemory>> processes = {};
  };
  // Readable while take() has something.
  int fd() const;
  // The latest ones.
  std::vector<Reading> take();
  // All that are asked about, one after the other.
  std::vector<UuidBytes> watched() const;
  // The GPU that NVML is being asked about.
  std::optional<UuidBytes> asked() const;

  // A watch of this process has left its thread in NVML, where it may be in the midst of what
  // exit() has libraries destroy.
  static bool has_left_thread();

 private:
  struct Shared;

  MemoryWatch(std::shared_ptr<Shared> shared, std::thread thread);

  std::shared_ptr<Shared> shared_;  // with the thread, which may outlive this object
  std::thread thread_;
};

}  // namespace nvs::daemon
