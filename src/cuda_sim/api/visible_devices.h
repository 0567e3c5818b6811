// SPDX-License-Identifier: Apache-2.0
// CUDA_VISIBLE_DEVICES: which GPUs of the machine a process sees, and in which order.
#pragma once

#include <vector>

#include "cuda_api/cuda.h"
#include "cuda_sim/machine/machine.h"

namespace nvs::sim {

/// `wanted` is the variable's value, or null if it is not set. Fails as cuInit does.
CUresult visible_devices(const Machine& machine, const char* wanted, std::vector<unsigned>& out);

}  // namespace nvs::sim
