// SPDX-License-Identifier: Apache-2.0
// How a region is cut into chunks, the units that move: 64 MiB each, and a last one that is rounded
// up to what the driver can map. Large chunks move at the speed of the bus; with small ones the
// driver's calls would cost as much as the copies.
#pragma once

#include <cstdint>

namespace nvs::interposer::vmm {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kChunkBytes = 64 * kMiB;
// More than there are addresses on a GPU: 128 TiB.
inline constexpr std::uint32_t kChunksMax = std::uint32_t{1} << 21U;

constexpr bool is_power_of_two(std::uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

struct Split {
  std::uint64_t bytes = 0;  // of all chunks together
  std::uint32_t chunks = 0;

  constexpr std::uint64_t offset_of(std::uint32_t chunk) const { return chunk * kChunkBytes; }
  // 0 for a chunk that is not there.
  constexpr std::uint64_t bytes_of(std::uint32_t chunk) const {
    if (chunk >= chunks) return 0;
    return chunk + 1 == chunks ? bytes - offset_of(chunk) : kChunkBytes;
  }
  // The chunk that holds this byte of the region; `chunks` if none does.
  constexpr std::uint32_t chunk_at(std::uint64_t offset) const {
    return offset < bytes ? static_cast<std::uint32_t>(offset / kChunkBytes) : chunks;
  }
};

// False, and `split` left alone, for sizes that no region can have. The granularity is a power of
// two that divides a chunk.
constexpr bool split_region(std::uint64_t bytes, std::uint64_t granularity, Split& split) {
  if (bytes == 0 || bytes > kChunksMax * kChunkBytes) return false;
  if (!is_power_of_two(granularity) || granularity > kChunkBytes) return false;
  const std::uint64_t rounded = (bytes + granularity - 1) & ~(granularity - 1);
  const std::uint64_t chunks = (rounded + kChunkBytes - 1) / kChunkBytes;
  split = {rounded, static_cast<std::uint32_t>(chunks)};
  return true;
}

}  // namespace nvs::interposer::vmm
