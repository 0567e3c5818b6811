// SPDX-License-Identifier: Apache-2.0
// Which devices may use whose memory. A program that enables peer access expects it for all
// allocations, present and future; pages that come back in must be given it again.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::vmm {
class Region;
}

namespace nvs::interposer::swap {

// The devices that may use this one's memory, one bit each; itself is among them.
std::uint32_t users_of(int device);

// The same with those that reach some of it through a view (ADR 17): all of them have to stand
// still before any of it goes.
std::uint32_t reached_by(int device);
// Only inside the gate, where none of it goes until the next plan is made.
void view_reaches(int owner, int user);

// How often somebody was given access to this one's memory. Nobody finds a region while its pages
// are mapped, so what was given meanwhile it gets when it is published, with the lock held.
std::uint32_t times_given(int device);
void give_access_since(std::uint32_t seen, const vmm::Region& region);

// The program has enabled it, or asked to end it; what is there already is brought up to date. CUDA
// gives access to pairs of contexts, we to pairs of devices: these have it until the last of their
// contexts has not. Of more pairs than so many it is not taken back.
inline constexpr int kContextPairsMax = 1024;
struct PeerContext {
  std::uint64_t context;
  int device;
};
void peer_enabled(const PeerContext& owner, const PeerContext& user);
void peer_disabled(const PeerContext& owner, const PeerContext& user);
// What it had enabled ends with it, and what others had to use its memory.
void peer_ended(std::uint64_t context);
// It may use a pool of the owner's, and so all of its memory from then on.
void pool_enabled(int owner, int user);

// These GPUs were given work on memory of those owners, beside what access allows them: copies need
// none. Said inside the gates of the owners, of each call before it is made (ADR 29).
void crossed(std::uint32_t owners, std::uint32_t users);
// All that this GPU was given is done, and its gate is closed.
void stands_still(int user);
bool has_crossed(int owner, int user);
// All that may be at work on this one's memory, or can be: they stand still before any of it goes.
std::uint32_t touched_by(int device);

void forget_peers_in_child();

}  // namespace nvs::interposer::swap
