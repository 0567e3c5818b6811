// SPDX-License-Identifier: Apache-2.0
// A scrap of the driver's own memory in a context. What the driver says of it, it would say of any
// memory that it allocates there; so we need not know every attribute, nor how wide its value is.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::memory {

// Made when it is first asked for, and gone with its context. 0 if there is none to be had.
CUdeviceptr sample_in(std::uint64_t context);

// Around a call that may end the context: it is nobody's until it is known that the context goes
// on, and then it is kept for it again. 0: there is none.
CUdeviceptr take_sample(std::uint64_t context);
void keep_sample(std::uint64_t context, CUdeviceptr address);
void forget_samples_in_child();

}  // namespace nvs::interposer::memory
