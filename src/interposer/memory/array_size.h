// SPDX-License-Identifier: Apache-2.0
// How many bytes an array holds: the driver tells nobody, so it is computed from the descriptor
// that the program gave. Elements only: how the driver pads and tiles them is its own affair.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_array.h"

namespace nvs::interposer::memory {

// One array. Nothing for sparse arrays and those with deferred mapping, whose memory is mapped into
// them later and counted as what it is.
std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);

// All levels of a mipmapped array. As the driver does, `levels` is held between 1 and the level at
// which everything that shrinks has shrunk to 1.
std::uint64_t mipmapped_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels);

}  // namespace nvs::interposer::memory
