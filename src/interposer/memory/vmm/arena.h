// SPDX-License-Identifier: Apache-2.0
// Small allocations: a handle of the driver has at least 2 MiB, so what is smaller shares regions
// of a context, the arenas. Addresses are multiples of 512 as cuMemAlloc's are. An arena that is
// empty says so, and its region can be given back; which regions they are, the caller knows. Not
// thread-safe: the caller holds a lock.
#pragma once

#include <cstdint>

#include "interposer/memory/vmm/spans.h"
#include "interposer/memory/vmm/split.h"
#include "os/linux_calls.h"

namespace nvs::interposer::vmm {

inline constexpr std::uint64_t kSmallStep = 512;
inline constexpr std::uint64_t kSmallEnd = 2 * kMiB;  // from here on, a region of its own
inline constexpr std::uint64_t kArenaMin = kSmallEnd;
inline constexpr std::uint64_t kArenaMax = 32 * kMiB;

class Arenas {
 public:
  explicit constexpr Arenas(MapPages map = &os::map_pages) : spans_(kSmallStep, map) {}

  // A piece of the owner's arenas. no_room: add one of next_bytes() and try again, it will do.
  const Piece* take(const SpanOwner& owner, std::uint64_t bytes, Took& took);

  // What the next arena should have: as much as there is already, so that programs with little have
  // little reserved and those with much have few regions.
  std::uint64_t next_bytes(const SpanOwner& owner) const;
  // A region that is fresh; false if it cannot be an arena or there is no memory to write it down.
  bool add(const SpanOwner& owner, std::uint64_t base, std::uint64_t bytes);

  // The arena that a small allocation was in, which may be empty now; null if none begins there.
  const Span* give(std::uint64_t address) { return spans_.give(address); }
  // The small allocation with this address in it.
  const Piece* find(std::uint64_t address) const { return spans_.find(address); }

  // The arena's region goes: because it is empty, or with its context, whatever is in use.
  bool remove_empty(std::uint64_t base) { return spans_.remove(base, Spans::Remove::if_empty); }
  bool remove(std::uint64_t base) { return spans_.remove(base, Spans::Remove::with_all_pieces); }

  SpanUsage usage(const SpanOwner& owner) const { return spans_.usage(owner); }
  const Span* next(std::uint64_t base) const { return spans_.next_span(base); }
  std::size_t bytes_of_books() const { return spans_.bytes_of_books(); }
  void forget() { spans_.forget(); }

 private:
  Spans spans_;
};

}  // namespace nvs::interposer::vmm
