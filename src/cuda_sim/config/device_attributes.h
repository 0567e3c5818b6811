// SPDX-License-Identifier: Apache-2.0
// What cuDeviceGetAttribute answers for a modelled card.
#pragma once

#include <optional>

#include "cuda_sim/config/model.h"

namespace nvs::sim {

/// None for an attribute that CUDA 13.0 does not know.
std::optional<int> device_attribute(const Model& model, int attribute);

}  // namespace nvs::sim
