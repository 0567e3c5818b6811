// SPDX-License-Identifier: Apache-2.0
// What the demonstration shows: which tenants run side by side on which GPU, one scene after
// another, with sizes that fit the GPUs at hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/runner.h"

namespace nvs::workloads {

struct Scene {
  std::string title;
  std::vector<TenantSpec> tenants;
};

struct DemoPlan {
  std::vector<Scene> scenes;
  // Below one where the usual sizes would not fit the GPUs and all are made smaller.
  double size_factor = 1;
};

// `length` times the usual duration, which is under a minute for all scenes together.
DemoPlan plan_demo(int gpus, std::uint64_t gpu_memory_bytes, double length);

}  // namespace nvs::workloads
