// SPDX-License-Identifier: Apache-2.0
// How many bytes an array holds: the driver tells nobody, so it is computed from the descriptor
// that the program gave. Elements only: how the driver pads and tiles them is its own affair.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_array.h"

namespace nvs::interposer::memory {

// What cuda.h has after CUDA 13.0, whose headers src/cuda_api follows, as CU_AD_FORMAT_UINT8_ and
// so on. The names say how colours are sampled.
enum class SampledFormat : unsigned {
  uint8_packed_422 = 0x51,
  uint8_packed_444,
  uint8_semi_planar_420,
  uint16_semi_planar_420,
  uint8_semi_planar_422,
  uint16_semi_planar_422,
  uint8_semi_planar_444,
  uint16_semi_planar_444,
  uint8_planar_420,
  uint16_planar_420,
  uint8_planar_422,
  uint16_planar_422,
  uint8_planar_444,
  uint16_planar_444,
};

// One array. Nothing for sparse arrays and those with deferred mapping, whose memory is mapped into
// them later and counted as what it is.
std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor);

// All levels of a mipmapped array. As the driver does, `levels` is held between 1 and the level at
// which everything that shrinks has shrunk to 1.
std::uint64_t mipmapped_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels);

}  // namespace nvs::interposer::memory
