// SPDX-License-Identifier: Apache-2.0
// What the driver has of a GPU for a tenant's processes by itself: contexts, modules, memory of
// graphs, what pools keep. No program is told of it, so it is what NVML says that they have less
// what they say themselves. People see it; nothing is decided by it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "core/ids.h"
#include "nvml/nvml.h"

namespace nvs::daemon {

// A client that uses a GPU, and what it is known to have there.
struct ClaimedMemory {
  pid_t pid = 0;
  core::TenantId tenant{};
  // Nothing: where it is only the driver knows (Unified Memory).
  std::optional<std::uint64_t> bytes = 0;
};

// What the processes of a tenant have on a GPU.
struct TenantUse {
  std::uint64_t used = 0;     // by NVML
  std::uint64_t claimed = 0;  // by their own word
  bool operator==(const TenantUse&) const = default;
};

// Of the tenants of which all of it is known. One is left out if NVML lists none of its processes,
// or not one that has memory: it may be new, or its pid be of a namespace that the other side does
// not see. `processes` are in the order of their pids.
std::map<core::TenantId, TenantUse> uses_of(const std::vector<ClaimedMemory>& clients,
                                            const std::vector<ProcessMemory>& processes);

class DriverMemory {
 public:
  // Of all tenants on the GPU; who is not among them is not known any more. As with the capacity,
  // a poll counts only if it is like the one before, and more of them are needed for a figure that
  // grows: clients tell late what they took, and memory that moves is in one of the two alone.
  void poll(core::GpuId gpu, const std::map<core::TenantId, TenantUse>& uses);

  // Nothing: not known.
  std::optional<std::uint64_t> bytes(core::TenantId tenant, core::GpuId gpu) const;

 private:
  struct Figure {
    TenantUse last;
    int still = 0;  // polls in a row that were like the one before
    std::optional<std::uint64_t> bytes = {};
  };
  std::map<core::GpuId, std::map<core::TenantId, Figure>> gpus_;
};

}  // namespace nvs::daemon
