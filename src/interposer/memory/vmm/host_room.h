// SPDX-License-Identifier: Apache-2.0
// Where in host memory chunks can be copied to. The daemon lends segments; this hands out places in
// them, each exactly as large as a chunk. Holes that fit are filled before others are broken up,
// and older segments before newer ones, so that segments fall empty and can go back. Pure: who
// maps a segment tells it here. Not thread-safe: the caller holds a lock.
#pragma once

#include <cstdint>

#include "interposer/memory/vmm/chunk.h"
#include "interposer/memory/vmm/spans.h"
#include "interposer/memory/vmm/split.h"
#include "os/linux_calls.h"

namespace nvs::interposer::vmm {

inline constexpr std::uint64_t kHostStep = 2 * kMiB;

struct HostSegment {
  std::uint64_t id = 0;      // ours; not 0
  std::uint64_t number = 0;  // the daemon's; 0: of one that is gone
  std::uint64_t bytes = 0;
  std::uint64_t mapped_at = 0;

  std::uint64_t line_base = 0;  // where it is on the line of all segments; see HostRoom
  TreeLinks<HostSegment> links = {};
};

class HostRoom {
 public:
  explicit constexpr HostRoom(MapPages map = &os::map_pages) : pool_(map), spans_(kHostStep, map) {}

  // False if the id is known, the size is not in steps, or there is no memory to write it down.
  bool add(std::uint64_t id, std::uint64_t bytes, std::uint64_t mapped_at,
           std::uint64_t number = 0);
  // False if it is not known or a place in it is taken.
  bool remove(std::uint64_t id);
  // The daemon is gone, and its numbers with it.
  void forget_numbers();

  // no_room: a segment is needed.
  HostPlace take(std::uint64_t bytes, Took& took);
  // False if no place begins there.
  bool give(const HostPlace& place);

  // Where the place is mapped; 0 if it is not taken.
  std::uint64_t address_of(const HostPlace& place) const;
  const HostSegment* find(std::uint64_t id) const;
  // The segments without a place in use, by their ids: the first above `id`.
  const HostSegment* next_empty(std::uint64_t id) const;
  SpanUsage usage() const { return spans_.usage({}); }
  std::size_t bytes_of_books() const { return pool_.bytes_taken() + spans_.bytes_of_books(); }

  // For the child of a fork.
  void forget();

 private:
  struct ById {
    static std::uint64_t key(const HostSegment& segment) { return segment.id; }
  };
  static constexpr std::uint64_t kLineStart = kHostStep;

  HostSegment* segment(std::uint64_t id) const;
  // The place's piece; null if it is not taken.
  const Piece* piece_of(const HostPlace& place) const;

  PagePool pool_;
  Spans spans_;
  Tree<HostSegment, ById> segments_ = {};
  // Segments may be mapped at any page, so places are counted on a line on which they follow each
  // other in the order of their coming.
  std::uint64_t line_end_ = kLineStart;
};

}  // namespace nvs::interposer::vmm
