// SPDX-License-Identifier: Apache-2.0
// Watches the GPUs through NVML, in a thread of its own: errors that the driver reports, and now
// and then whether each GPU still answers. It only posts what it saw.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "nvml/nvml.h"

namespace nvs::plugin {

struct GpuNews {
  std::string gpu;           // UUID of a whole GPU; empty: it could not even say who it is
  std::uint64_t xid = 0;     // 0: it was asked, and `silence` says how that went
  std::string silence = {};  // why it does not answer; empty: it does
  // Of an Xid, as XidEvent has them.
  std::optional<unsigned> gpu_instance = {};
  std::optional<unsigned> compute_instance = {};
};

class GpuWatch {
 public:
  GpuWatch(std::shared_ptr<const Nvml> nvml, std::vector<std::string> gpus,
           std::function<void(GpuNews)> post);
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

 private:
  void run();
  void listen();
  void wait_once();
  void ask_all();

  std::shared_ptr<const Nvml> nvml_;
  std::vector<std::string> gpus_;
  std::function<void(GpuNews)> post_;
  nvmlEventSet_t set_ = nullptr;  // null: this driver has no events
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;  // the last, because it uses the others
};

}  // namespace nvs::plugin
