// SPDX-License-Identifier: Apache-2.0
// What a run is measured by, over all lifetimes of the daemon: waits of each tenant on each GPU,
// switches, and time lost in handing over.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "checker.h"

namespace nvs::sim {

struct TenantMeter {
  std::vector<Duration> waits;
};

struct GpuMeter {
  std::vector<TenantMeter> tenants;  // by number in the plan
  std::uint64_t switches = 0;
  Duration handover;
  std::uint64_t turns = 0;
};

class Meter {
 public:
  Meter(std::size_t gpus, std::size_t tenants) : gpus_(gpus) {
    for (GpuMeter& gpu : gpus_) gpu.tenants.resize(tenants);
  }
  std::vector<GpuMeter>& gpus() { return gpus_; }
  const std::vector<GpuMeter>& gpus() const { return gpus_; }
  // Adds what the core's own books say at the end of a lifetime.
  void add(const core::NodeView& view);
  // Notes waits as windows open. `numbers` tells which tenant of the plan a core::TenantId is.
  std::unique_ptr<Checker> make_observer(const std::vector<std::uint32_t>& numbers);

 private:
  std::vector<GpuMeter> gpus_;
};

}  // namespace nvs::sim
