// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/seeds_part.h"

#include <algorithm>

#include <fmt/format.h>

namespace nvs::bench::seeds_case {

SeedsPlan seeds_plan_for(const Bench& bench) {
  if (bench.quick) return {1, 1, 0.5, 1.5};
  return bench.machine.simulated() ? SeedsPlan{8, 2, 1, 8} : SeedsPlan{8, 3, 1, 12};
}

int gpus_of(const MemoryPart& part) {
  const std::size_t found = part.daemon().status().at("gpus").size();
  return static_cast<int>(std::min<std::size_t>(found, kGpusMax));
}

WorkloadTenant task(const MemoryPart& part, const std::string& label, const std::string& workload,
                    const std::vector<std::string>& options, int gpu) {
  WorkloadTenant tenant{label, {workload}, part.daemon().tenant(), gpu};
  tenant.arguments.insert(tenant.arguments.end(), options.begin(), options.end());
  return tenant;
}

std::vector<std::string> for_seconds(const MemoryPart& part, double seconds) {
  return {"--seconds", fmt::format("{:.3f}", part.machine().wall_seconds(seconds))};
}

}  // namespace nvs::bench::seeds_case
