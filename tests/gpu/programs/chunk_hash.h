// SPDX-License-Identifier: Apache-2.0
// The hash by which a chunk of GPU memory is told to be what its copy in host memory is, as the GPU
// computes it: many threads, each over every kThreads-th word of 16 bytes, and a sum over threads,
// which does not depend on who comes first. 128 bits, of which each half sees every byte. It finds
// changes; it does not stop somebody who wants two contents to look the same, which could only hurt
// that one's own data.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace nvs {

struct ChunkHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const ChunkHash&) const = default;
};

namespace chunk_hash {

inline constexpr std::uint32_t kBlocks = 512;
inline constexpr std::uint32_t kBlockThreads = 256;
inline constexpr std::uint64_t kThreads = std::uint64_t{kBlocks} * kBlockThreads;
inline constexpr std::size_t kWordBytes = 16;

// What one thread knows.
struct Lane {
  std::uint64_t low;
  std::uint64_t high;
};

constexpr Lane begin(std::uint64_t thread) {
  return {0x9e3779b97f4a7c15 + thread, 0x243f6a8885a308d3 ^ thread};
}

// A word of the chunk: its first and its second eight bytes.
constexpr Lane add(Lane lane, std::uint64_t first, std::uint64_t second) {
  lane.low = (lane.low ^ (first + std::rotl(second, 21))) * 0xbf58476d1ce4e5b9;
  lane.high = (lane.high ^ (second + std::rotl(first, 43))) * 0x94d049bb133111eb;
  return {lane.low ^ (lane.low >> 29U), lane.high ^ (lane.high >> 31U)};
}

constexpr Lane end(Lane lane) {
  lane = {lane.low * 0xff51afd7ed558ccd, lane.high * 0xc4ceb9fe1a85ec53};
  return {lane.low ^ (lane.low >> 32U), lane.high ^ (lane.high >> 32U)};
}

}  // namespace chunk_hash
}  // namespace nvs
