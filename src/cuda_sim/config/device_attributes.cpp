// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/config/device_attributes.h"

#include "cuda_api/cuda.h"

namespace nvs::sim {
namespace {

std::optional<int> h200_attribute(int attribute) {
  switch (attribute) {
#define NVS_SIM_ATTRIBUTE(number, value) \
  case number:                           \
    return value;
#include "spec/sim_h200_attributes.def"
#undef NVS_SIM_ATTRIBUTE
    default:
      return std::nullopt;
  }
}

}  // namespace

// Only the H200 could be asked. Other cards answer as it does, but for what their model says of
// itself.
std::optional<int> device_attribute(const Model& model, int attribute) {
  const bool hopper = model.capability_major >= 9;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return model.capability_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return model.capability_minor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return model.multiprocessors;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return model.clock_khz;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return model.memory_clock_khz;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return model.memory_bus_bits;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return model.l2_bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return model.shared_per_block_optin;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return model.shared_per_multiprocessor;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return model.threads_per_multiprocessor;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED:
      return hopper ? 1 : 0;
    default:
      return h200_attribute(attribute);
  }
}

}  // namespace nvs::sim
