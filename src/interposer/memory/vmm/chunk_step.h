// SPDX-License-Identifier: Apache-2.0
// What an event makes of a chunk. One that does not fit the chunk's state is refused and changes
// nothing, so that nothing is released twice or lost, even if a program frees memory in the middle
// of a move. Pure.
#pragma once

#include <cstdint>

#include "interposer/memory/vmm/chunk.h"

namespace nvs::interposer::vmm {

namespace detail {

// The end of a chunk: all that it owns goes to the caller.
constexpr Outcome hand_over(Chunk& chunk) {
  const Outcome outcome{true, chunk.handle, chunk.place};
  chunk = Chunk{};
  chunk.state = ChunkState::gone;
  return outcome;
}

// The end of a move: that of the chunk as well, if it was freed meanwhile.
constexpr Outcome arrive(Chunk& chunk, ChunkState state) {
  if (chunk.doomed) return hand_over(chunk);
  chunk.state = state;
  return {true};
}

constexpr Outcome become_resident(Chunk& chunk, std::uint64_t handle, bool clean) {
  if (handle == 0) return {};
  chunk.handle = handle;
  chunk.clean = clean;
  return arrive(chunk, ChunkState::resident);
}

constexpr Outcome begin_in(Chunk& chunk) {
  switch (chunk.state) {
    case ChunkState::unbacked:
      chunk.state = ChunkState::coming_fresh;
      break;
    case ChunkState::swapped:
      chunk.state = ChunkState::coming_copied;
      break;
    case ChunkState::zero:
      chunk.state = ChunkState::coming_zeroed;
      break;
    default:
      return {};
  }
  return {true};
}

constexpr Outcome cancel_in(Chunk& chunk) {
  switch (chunk.state) {
    case ChunkState::coming_fresh:
      return arrive(chunk, ChunkState::unbacked);
    case ChunkState::coming_copied:
      return arrive(chunk, ChunkState::swapped);
    case ChunkState::coming_zeroed:
      return arrive(chunk, ChunkState::zero);
    default:
      return {};
  }
}

// Fresh memory promises nothing, and may be handed out in an open window: it is never clean.
constexpr Outcome finish_in(Chunk& chunk, std::uint64_t handle) {
  if (!is_coming(chunk.state)) return {};
  return become_resident(chunk, handle, chunk.state != ChunkState::coming_fresh);
}

constexpr Outcome leave_with_copy(Chunk& chunk, const HostPlace& place, const Hash& hash) {
  // A second place would have to be released, and one of exactly this size is as good.
  if (!place.is_some() || (chunk.place.is_some() && chunk.place != place)) return {};
  chunk.handle = 0;
  chunk.clean = false;
  chunk.place = place;
  chunk.hash = hash;
  return arrive(chunk, ChunkState::swapped);
}

constexpr Outcome leave_as_zero(Chunk& chunk) {
  const HostPlace place = chunk.place;
  chunk.handle = 0;
  chunk.clean = false;
  chunk.place = {};
  chunk.hash = {};
  Outcome outcome = arrive(chunk, ChunkState::zero);
  outcome.place = place;
  return outcome;
}

constexpr Outcome leave_as_same(Chunk& chunk) {
  if (!chunk.clean) return {};
  if (!chunk.place.is_some()) return leave_as_zero(chunk);
  return leave_with_copy(chunk, chunk.place, chunk.hash);
}

// The copy may have been begun, over an older one that is now lost. Over an equal one it does no
// harm.
constexpr Outcome cancel_out(Chunk& chunk) {
  if (!chunk.clean) chunk.hash = {};
  return arrive(chunk, ChunkState::resident);
}

constexpr Outcome drop_host(Chunk& chunk, bool is_clean) {
  const HostPlace place = chunk.place;
  chunk.place = {};
  chunk.hash = {};
  chunk.clean = is_clean;
  return {true, 0, place};
}

constexpr Outcome note_hash(Chunk& chunk, const Hash& hash) {
  if (!hash.is_known()) return {};
  chunk.clean = chunk.place.is_some() && chunk.hash == hash;
  return {true};
}

constexpr Outcome leaving_step(Chunk& chunk, const Happening& what) {
  switch (what.event) {
    case ChunkEvent::out_copied:
      return leave_with_copy(chunk, what.place, what.hash);
    case ChunkEvent::out_zero:
      return leave_as_zero(chunk);
    case ChunkEvent::out_same:
      return leave_as_same(chunk);
    case ChunkEvent::out_cancelled:
      return cancel_out(chunk);
    case ChunkEvent::hashed:
      return note_hash(chunk, what.hash);
    default:
      return {};
  }
}

constexpr Outcome resident_step(Chunk& chunk, const Happening& what) {
  switch (what.event) {
    case ChunkEvent::began_out:
      chunk.state = ChunkState::leaving;
      return {true};
    case ChunkEvent::hashed:
      return note_hash(chunk, what.hash);
    case ChunkEvent::found_zero:
      return drop_host(chunk, true);
    case ChunkEvent::written:
      chunk.clean = false;
      return {true};
    case ChunkEvent::host_dropped:
      return chunk.place.is_some() ? drop_host(chunk, false) : Outcome{};
    default:
      return {};
  }
}

constexpr Outcome free_chunk(Chunk& chunk) {
  if (chunk.doomed || chunk.state == ChunkState::gone) return {};
  if (!is_moving(chunk.state)) return hand_over(chunk);
  chunk.doomed = true;
  return {true};
}

}  // namespace detail

constexpr Outcome step(Chunk& chunk, const Happening& what) {
  switch (what.event) {
    case ChunkEvent::backed:
      if (chunk.state != ChunkState::unbacked) return {};
      return detail::become_resident(chunk, what.handle, false);
    case ChunkEvent::began_in:
      return detail::begin_in(chunk);
    case ChunkEvent::in_done:
      return detail::finish_in(chunk, what.handle);
    case ChunkEvent::in_cancelled:
      return detail::cancel_in(chunk);
    case ChunkEvent::freed:
      return detail::free_chunk(chunk);
    default:
      break;
  }
  if (chunk.state == ChunkState::leaving) return detail::leaving_step(chunk, what);
  if (chunk.state == ChunkState::resident) return detail::resident_step(chunk, what);
  return {};
}

}  // namespace nvs::interposer::vmm
