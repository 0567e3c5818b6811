// SPDX-License-Identifier: Apache-2.0
// The streams to which something else than copies was submitted. Pure.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::flow {

class StreamsAtWork {
 public:
  void add(CUstream stream) { places_[place_of(stream)] = stream; }
  // One that shares its place with another may be forgotten, until it is told again.
  bool has(CUstream stream) const { return places_[place_of(stream)] == stream; }
  // Its handle may come back as that of another one.
  void ends(CUstream stream) {
    if (has(stream)) places_[place_of(stream)] = nullptr;
  }

 private:
  static constexpr unsigned kBits = 6;
  // Handles are addresses, whose low bits tell little.
  static std::uint64_t place_of(CUstream stream) {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
    return (reinterpret_cast<std::uintptr_t>(stream) * kGolden) >> (64 - kBits);
  }

  CUstream places_[1U << kBits] = {};
};

}  // namespace nvs::interposer::flow
