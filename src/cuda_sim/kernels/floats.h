// SPDX-License-Identifier: Apache-2.0
// Arrays of floats in device memory, as built-in kernels read and write them: in stripes, across
// chunk borders, and counting values that nobody ever wrote.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "cuda_sim/memory/view.h"

namespace nvs::sim {

/// A kernel computes the first kStripe of every kStripeBlock elements.
inline constexpr std::uint64_t kStripe = 256;
inline constexpr std::uint64_t kStripeBlock = 16384;

using StripeBuffer = std::array<float, kStripe>;

/// Calls f(first, count) for each stripe of an array of n elements.
template <class F>
void for_each_stripe(std::uint64_t n, F&& f) {
  for (std::uint64_t first = 0; first < n; first += kStripeBlock) {
    f(first, std::min(kStripe, n - first));
  }
}

inline std::uint64_t count_poison(std::span<const float> values) {
  return static_cast<std::uint64_t>(std::count_if(values.begin(), values.end(), [](float value) {
    return std::bit_cast<std::uint32_t>(value) == kPoison;
  }));
}

/// Reads elements [first, first + count) into the buffer and returns how many of them are poison.
inline std::uint64_t read_floats(const View& view, std::uint64_t first, std::uint64_t count,
                                 StripeBuffer& into) {
  auto* out = reinterpret_cast<std::byte*>(into.data());
  view.for_each(first * sizeof(float), count * sizeof(float),
                [&](const std::byte* host, std::uint64_t bytes) {
                  std::memcpy(out, host, bytes);
                  out += bytes;
                });
  return count_poison({into.data(), count});
}

inline void write_floats(const View& view, std::uint64_t first, std::uint64_t count,
                         const StripeBuffer& from) {
  const auto* in = reinterpret_cast<const std::byte*>(from.data());
  view.for_each(first * sizeof(float), count * sizeof(float),
                [&](std::byte* host, std::uint64_t bytes) {
                  std::memcpy(host, in, bytes);
                  in += bytes;
                });
}

}  // namespace nvs::sim
