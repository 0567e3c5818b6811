// SPDX-License-Identifier: Apache-2.0
// Which card is which, in the words of NVML alone; what CUDA tells too is in config/gpu_identity.h.
#pragma once

#include <string>

#include "cuda_sim/config/model.h"

namespace nvs::nvml {

/// Thirteen digits, made from the UUID.
std::string serial_number(const sim::Model& model, unsigned gpu);

}  // namespace nvs::nvml
