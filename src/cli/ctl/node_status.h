// SPDX-License-Identifier: Apache-2.0
// What the daemon says about the node, as plain data: what `status` and `top` show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nvs::cli {

struct GpuStatus {
  std::uint64_t index = 0;
  std::string uuid;
  std::string name;
  std::uint64_t memory_bytes = 0;
  std::string mode;
  double window_ms = 0;
  std::optional<double> turn_s;  // none: chosen by the daemon
  std::optional<std::uint64_t> holder;
  std::uint64_t waiting = 0;
  std::uint64_t switches = 0;
  double held_s = 0;
  double handover_s = 0;
  std::uint64_t capacity_bytes = 0;  // what tenants can have together; 0: not known
  std::uint64_t visible_bytes = 0;   // what a program sees as its size
  std::uint64_t other_bytes = 0;     // contexts, and programs that go round nvshare
  double swap_idle_s = 0;            // nobody ran, and somebody waited for its memory
  std::string nvml_error = {};       // why NVML says nothing about it; empty: it does
};

struct UseStatus {  // of one GPU by one tenant
  std::uint64_t gpu = 0;
  std::string state;
  double used_s = 0;
  double waited_s = 0;
  double waiting_now_s = 0;
  double longest_wait_s = 0;
  std::uint64_t windows = 0;
  std::uint64_t memory_bytes = 0;    // allocated
  std::uint64_t resident_bytes = 0;  // of that: can be moved, and is on the GPU
  std::uint64_t swapped_bytes = 0;   // can be moved, and is not
  std::uint64_t clean_bytes = 0;     // of resident: need not be copied to be moved out
  std::uint64_t fixed_bytes = 0;     // cannot be moved
  std::uint64_t host_bytes = 0;      // in host memory
  std::uint64_t managed_bytes = 0;   // Unified Memory, wherever it is
  // What the driver has for it beside all that; none: not known.
  std::optional<std::uint64_t> driver_bytes = {};
  // Limits, and what counts towards them.
  std::optional<std::uint64_t> memory_limit_bytes = {};  // none: no limit
  std::uint64_t memory_used_bytes = 0;
  std::optional<double> cap_percent = {};           // as it was asked for; none: no cap
  std::optional<double> cap_in_force_percent = {};  // where caps add up to more than the GPU
  std::optional<double> share_10s = {};             // 0 to 1; none: not known yet
  std::optional<double> share_60s = {};
  double throttled_s = 0;
  // Swaps: how long it had work and waited for its memory, and what was copied to the host and
  // back.
  double memory_wait_s = 0;
  std::uint64_t copied_out_bytes = 0;
  std::uint64_t copied_in_bytes = 0;
};

struct TenantStatus {
  std::uint64_t id = 0;
  std::string name;
  std::string priority;
  std::uint64_t weight = 0;
  bool paused = false;
  std::vector<std::uint64_t> pids;
  std::vector<UseStatus> uses;
  std::vector<std::string> limit_errors = {};  // sentences
  std::string unverified = {};                 // why its pod is not known for sure; empty: it is
};

struct HostMemoryStatus {  // what the daemon lends for memory that is moved out of GPUs
  std::uint64_t cap_bytes = 0;
  std::uint64_t held_bytes = 0;  // what was kept from an earlier daemon is among it
  std::uint64_t ready_bytes = 0;
  std::uint64_t refused = 0;
};

struct NodeStatus {
  std::string version;
  std::string folder;
  std::uint64_t pid = 0;
  double uptime_s = 0;
  std::optional<HostMemoryStatus> host_memory;  // none: of an older daemon
  std::vector<GpuStatus> gpus;
  std::vector<TenantStatus> tenants;
};

}  // namespace nvs::cli
