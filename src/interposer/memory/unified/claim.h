// SPDX-License-Identifier: Apache-2.0
// How much of a GPU's memory the Unified Memory of this process counts as, by the daemon's words
// (ADR-0015): all of it, or so much that others' fixed memory still has room beside it. Of that, a
// part is on the GPU and the rest is away, as with memory that we move ourselves; only that the
// driver carries it out when somebody needs the room.
#pragma once

#include <cstdint>

namespace nvs::interposer::unified {

// All of these with the lock of swap/rooms.h held.
std::uint64_t claimed(int gpu);
std::uint64_t resident(int gpu);
std::uint64_t away(int gpu);

// What `bytes` more, allocated now, would add to the claim.
std::uint64_t growth(int gpu, std::uint64_t bytes);

// The most that may be allocated in all.
std::uint64_t most(int gpu);

// Moves the claim towards what is allowed. Nothing leaves unless the gate is closed and drained.
enum class Next : std::uint8_t {
  none,   // it is as it is to be
  bring,  // some of it is allowed and away: up to `target` in all
  left,   // some of it counts as away now
  wait,   // some of it is to go, and may not yet
};
Next follow_allowance(int gpu, bool is_closed, std::uint64_t& target);

// So much was brought in. False: no longer so much is allowed.
bool note_brought(int gpu, std::uint64_t bytes);

// Without the lock: whether all that is claimed is there.
bool is_complete(int gpu);

}  // namespace nvs::interposer::unified
