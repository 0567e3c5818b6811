// SPDX-License-Identifier: Apache-2.0
// A scrap of the driver's own memory in a context. What the driver says of it, it would say of any
// memory that it allocates there; so we need not know every attribute, nor how wide its value is.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::memory {

// Made when it is first asked for, and gone with its context. 0 if there is none to be had.
CUdeviceptr sample_in(std::uint64_t context);

void forget_sample(std::uint64_t context);
void forget_samples_in_child();

}  // namespace nvs::interposer::memory
