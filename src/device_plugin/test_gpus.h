// SPDX-License-Identifier: Apache-2.0
// GPUs for tests that need some and no NVML.
#pragma once

#include <string>
#include <vector>

#include "device_plugin/inventory.h"

namespace nvs::plugin {

inline std::string test_uuid(unsigned number) {
  return "GPU-0000000" + std::to_string(number) + "-1122-3344-5566-778899aabbcc";
}

inline OfferedGpu test_gpu(unsigned number) {
  return {.uuid = test_uuid(number),
          .parent_uuid = test_uuid(number),
          .mig_profile = "",
          .memory_bytes = 16 * kGiB,
          .numa_node = std::nullopt,
          .index = std::to_string(number),
          .device_files = {"/dev/nvidia" + std::to_string(number)}};
}

inline std::vector<OfferedGpu> test_gpus(unsigned count) {
  std::vector<OfferedGpu> gpus;
  for (unsigned number = 0; number < count; ++number) gpus.push_back(test_gpu(number));
  return gpus;
}

}  // namespace nvs::plugin
