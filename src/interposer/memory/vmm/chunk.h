// SPDX-License-Identifier: Apache-2.0
// One chunk of device memory and what it owns: a handle of the driver while it is on the device, a
// place in host memory while it has a copy there. Whatever happens to it is an event, and
// chunk_step.h says what follows.
#pragma once

#include <cstdint>

namespace nvs::interposer::vmm {

// Where a chunk's copy is: so many steps of 2 MiB into a segment of the host pool. The size of a
// place is that of its chunk.
struct HostPlace {
  std::uint64_t segment = 0;  // 0: nowhere
  std::uint32_t step = 0;

  constexpr bool is_some() const { return segment != 0; }
  friend constexpr bool operator==(const HostPlace&, const HostPlace&) = default;
};

// Of a chunk's content. All zero: not known.
struct Hash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  constexpr bool is_known() const { return low != 0 || high != 0; }
  friend constexpr bool operator==(const Hash&, const Hash&) = default;
};

// A chunk leaves and comes while the gate is closed and everything is drained.
enum class ChunkState : std::uint8_t {
  unbacked,       // has addresses and was never given memory
  resident,       // on the device
  swapped,        // in host memory alone
  zero,           // all bytes are zero, and nobody has to keep them
  leaving,        // from resident to swapped or zero; the handle is still held
  coming_fresh,   // from unbacked to resident
  coming_copied,  // from swapped to resident
  coming_zeroed,  // from zero to resident
  gone,           // freed, and everything it owned is handed over
};

enum class ChunkEvent : std::uint8_t {
  backed,         // handle: an unbacked chunk has memory, without having been on the move
  began_out,      // the mover takes it up
  out_copied,     // place, hash if known: it was copied, and its mapping and handle are gone
  out_zero,       // it was found to be zero, and its mapping and handle are gone
  out_same,       // nothing was copied, as it was clean, and its mapping and handle are gone
  out_cancelled,  // it is still mapped; what the mover took for it, the mover gives back
  began_in,       // the mover takes it up
  in_done,        // handle: it is mapped, with access and content
  in_cancelled,   // no handle is left of the attempt
  hashed,         // hash: what is on the device now
  found_zero,     // so is this
  written,        // a window opened, in which anything may have been written
  host_dropped,   // its place is needed for others: a copy of what is on the device
  freed,          // by the program, or with its context
};
inline constexpr int kChunkEvents = 14;

struct Chunk {
  std::uint64_t handle = 0;  // only while resident or leaving
  HostPlace place = {};
  ChunkState state = ChunkState::unbacked;
  // Resident or leaving, and equal to its copy in the place; if it has no place, it is all zero.
  bool clean = false;
  bool doomed = false;  // was freed on the move, which must end first
  Hash hash = {};       // of the copy in the place, if that is whole
};

struct Happening {
  ChunkEvent event = ChunkEvent::freed;
  std::uint64_t handle = 0;
  HostPlace place = {};
  Hash hash = {};
};

// What became of an event. If it was refused, what came with it is still the caller's. Otherwise
// the caller has to release what the chunk does not own any more.
struct Outcome {
  bool fits = false;
  std::uint64_t handle = 0;  // mapped: unmap and release it
  HostPlace place = {};
};

constexpr bool is_coming(ChunkState state) {
  return state == ChunkState::coming_fresh || state == ChunkState::coming_copied ||
         state == ChunkState::coming_zeroed;
}
constexpr bool is_moving(ChunkState state) {
  return state == ChunkState::leaving || is_coming(state);
}
// It has to come before its program may run.
constexpr bool is_away(ChunkState state) {
  return state == ChunkState::unbacked || state == ChunkState::swapped || state == ChunkState::zero;
}

}  // namespace nvs::interposer::vmm
