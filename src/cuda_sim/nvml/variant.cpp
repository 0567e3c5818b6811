// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/nvml/variant.h"

namespace nvs::nvml {

const Variant kVariant = {.driver_version = NVS_NVML_DRIVER_VERSION,
                          .nvml_version = NVS_NVML_VERSION,
                          .cuda_version = NVS_NVML_CUDA_VERSION};

}  // namespace nvs::nvml
