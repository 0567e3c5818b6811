// SPDX-License-Identifier: Apache-2.0
// Bytes of chunks by what they are doing: of a region, of a device. It is what the daemon is told
// and what plans are made from, so it is kept up with every event rather than counted.
#pragma once

#include <cstdint>

#include "interposer/memory/vmm/chunk.h"

namespace nvs::interposer::vmm {

struct Sums {
  std::uint64_t resident = 0;
  std::uint64_t clean = 0;    // part of resident
  std::uint64_t leaving = 0;  // still on the device
  std::uint64_t coming = 0;   // may be on the device already
  std::uint64_t swapped = 0;  // not on the device, these three
  std::uint64_t zero = 0;
  std::uint64_t unbacked = 0;
  std::uint64_t host = 0;  // in places, also those of chunks that are resident

  constexpr std::uint64_t on_device() const { return resident + leaving + coming; }
  constexpr std::uint64_t away() const { return swapped + zero + unbacked; }
  constexpr std::uint64_t total() const { return on_device() + away(); }

  constexpr Sums& operator+=(const Sums& more) {
    resident += more.resident;
    clean += more.clean;
    leaving += more.leaving;
    coming += more.coming;
    swapped += more.swapped;
    zero += more.zero;
    unbacked += more.unbacked;
    host += more.host;
    return *this;
  }

  constexpr Sums& operator-=(const Sums& less) {
    resident -= less.resident;
    clean -= less.clean;
    leaving -= less.leaving;
    coming -= less.coming;
    swapped -= less.swapped;
    zero -= less.zero;
    unbacked -= less.unbacked;
    host -= less.host;
    return *this;
  }

  constexpr void add(const Chunk& chunk, std::uint64_t bytes) {
    if (std::uint64_t* sum = of(chunk.state)) *sum += bytes;
    if (chunk.state == ChunkState::resident && chunk.clean) clean += bytes;
    if (chunk.place.is_some()) host += bytes;
  }
  constexpr void subtract(const Chunk& chunk, std::uint64_t bytes) {
    if (std::uint64_t* sum = of(chunk.state)) *sum -= bytes;
    if (chunk.state == ChunkState::resident && chunk.clean) clean -= bytes;
    if (chunk.place.is_some()) host -= bytes;
  }
  friend constexpr bool operator==(const Sums&, const Sums&) = default;

 private:
  constexpr std::uint64_t* of(ChunkState state) {
    switch (state) {
      case ChunkState::unbacked:
        return &unbacked;
      case ChunkState::resident:
        return &resident;
      case ChunkState::swapped:
        return &swapped;
      case ChunkState::zero:
        return &zero;
      case ChunkState::leaving:
        return &leaving;
      case ChunkState::coming_fresh:
      case ChunkState::coming_copied:
      case ChunkState::coming_zeroed:
        return &coming;
      case ChunkState::gone:
        break;
    }
    return nullptr;
  }
};

}  // namespace nvs::interposer::vmm
