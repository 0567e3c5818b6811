// SPDX-License-Identifier: Apache-2.0
// Host memory that a process lacks, and what it can do without while others lack some. Pure.
#pragma once

#include <cstdint>

#include "interposer/memory/vmm/host_room.h"
#include "interposer/memory/vmm/region_table.h"

namespace nvs::interposer::vmm {

// In bytes.
struct HostNeeds {
  std::uint64_t out = 0;       // of chunks that must leave now, or do
  std::uint64_t placed = 0;    // places of such that are on the device
  std::uint64_t free = 0;      // of segments, in no place
  std::uint64_t expected = 0;  // about to come
  std::uint64_t missing = 0;   // a chunk that found no hole
};

// There may be enough in all and no hole that is large enough.
constexpr std::uint64_t lack_of(const HostNeeds& needs) {
  if (needs.out == 0) return 0;
  const std::uint64_t there = needs.placed + needs.free + needs.expected;
  const std::uint64_t more = needs.out > there ? needs.out - there : 0;
  const std::uint64_t hole = needs.expected == 0 ? needs.missing : 0;
  return more > hole ? more : hole;
}

// What is free and not needed at once.
constexpr std::uint64_t spare_of(const HostNeeds& needs) {
  return needs.free > needs.out ? needs.free - needs.out : 0;
}

// Places of chunks that are not away, as far as sums tell: of those that come, too.
constexpr std::uint64_t placed_of(const Sums& sums) {
  return sums.host > sums.swapped ? sums.host - sums.swapped : 0;
}

// What has been too much for so long that it will not be wanted again soon.
class LongSpare {
 public:
  explicit constexpr LongSpare(std::int64_t patience_ns) : patience_ns_(patience_ns) {}

  std::uint64_t bytes(std::uint64_t have, std::uint64_t enough, std::int64_t now_ns) {
    if (have <= enough) {
      from_ns_ = kNever;
    } else if (from_ns_ == kNever) {
      from_ns_ = now_ns + patience_ns_;
    }
    return from_ns_ != kNever && now_ns >= from_ns_ ? have - enough : 0;
  }
  void forget() { from_ns_ = kNever; }

 private:
  static constexpr std::int64_t kNever = -1;
  std::int64_t patience_ns_;
  std::int64_t from_ns_ = kNever;
};

// Chunks on the device that do not move lose their places: they will be copied again when they
// leave. True if there were any.
bool drop_places(RegionTable& regions, HostRoom& room, int device);

}  // namespace nvs::interposer::vmm
