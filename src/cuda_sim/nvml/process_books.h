// SPDX-License-Identifier: Apache-2.0
// Who is on a GPU now, as the machine's books say it: living processes that have a context there.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda_sim/machine/machine.h"

namespace nvs::nvml {

struct GpuProcess {
  unsigned pid = 0;
  std::uint64_t bytes = 0;
  std::uint64_t busy_ns = 0;
};

std::vector<GpuProcess> processes_on(sim::Machine& machine, unsigned gpu);

}  // namespace nvs::nvml
