// SPDX-License-Identifier: Apache-2.0
// Programs may ask for copies and sets of any size. Arithmetic on them must not wrap around into a
// small size that fits.
#pragma once

#include <cstdint>

namespace nvs::sim {

/// What sizes beyond 64 bits count as: no allocation is as large.
inline constexpr std::uint64_t kTooFar = ~std::uint64_t{0};

/// a * b, or kTooFar.
inline std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? kTooFar : result;
}

/// a + b, or kTooFar.
inline std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? kTooFar : result;
}

}  // namespace nvs::sim
