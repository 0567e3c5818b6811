// SPDX-License-Identifier: Apache-2.0
// What the node daemon says of its GPUs and tenants, as far as the demonstration shows it. The text
// is the daemon's answer to the admin command `status`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace nvs::workloads {

// A tenant on one GPU. Its seconds are those of the daemon's clock.
struct GpuUse {
  int gpu = 0;  // the daemon's index
  std::string state{};
  double used_seconds = 0;
  double longest_wait_seconds = 0;
  std::uint64_t windows = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t swapped_bytes = 0;
  std::optional<double> cap_in_force_percent{};
  double throttled_seconds = 0;
};

struct NodeTenant {
  std::uint64_t id = 0;
  std::vector<pid_t> pids{};
  std::vector<GpuUse> gpus{};
};

struct NodeGpu {
  int index = 0;
  std::optional<std::uint64_t> holder{};  // a tenant's id
  std::uint64_t switches = 0;
  double held_seconds = 0;
  double handover_seconds = 0;  // between two windows, while somebody waited
};

struct NodeStatus {
  double uptime_seconds = 0;
  std::vector<NodeGpu> gpus{};
  std::vector<NodeTenant> tenants{};
};

// One line of the admin socket. An answer that refuses, or that is not what is asked for, is an
// error.
Result<NodeStatus> parse_node_status(std::string_view line);

// Of a command that is there for what it does: an error unless it was done.
Result<void> parse_node_answer(std::string_view line);

// The tenant that the process belongs to; null: the daemon does not know it.
const NodeTenant* find_tenant(const NodeStatus& status, pid_t pid);

}  // namespace nvs::workloads
