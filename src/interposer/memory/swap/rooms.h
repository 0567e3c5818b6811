// SPDX-License-Identifier: Apache-2.0
// What the process has of each GPU's memory and how much it may have: the tables of regions, arenas
// and host places, all under one lock that is held for moments, and the daemon's latest word. Who
// waits for any of it to change waits on a futex.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/gate/gate.h"
#include "interposer/memory/vmm/arena.h"
#include "interposer/memory/vmm/host_room.h"
#include "interposer/memory/vmm/region_table.h"
#include "interposer/memory/vmm/stream_heap.h"
#include "os/futex_lock.h"

namespace nvs::interposer::swap {

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// Of one GPU. All but the atomics is guarded by the lock.
struct Room {
  std::uint64_t allowed;     // of what can be moved; only if there is a number
  std::uint64_t number;      // of the daemon's word; 0: none yet, or there is no daemon
  bool is_free;              // there is no daemon, or it says nothing: no limit
  bool shared;               // others use the GPU
  bool is_crowded;           // and there is little room: what we have may have to leave soon
  bool is_short;             // the driver had less than what is allowed
  std::uint64_t total;       // what programs see; 0: what is really there
  std::uint64_t limit;       // what may be allocated in all; only if there is a total
  std::uint64_t backing;     // bytes that threads are getting pages for; they count as resident
  std::uint64_t asked;       // bytes that threads wait for
  std::uint64_t for_driver;  // of these two: for what the driver has itself (driver_room.h)
  std::uint64_t copied_out;  // all in all
  std::uint64_t copied_in;
  std::uint64_t stays;           // of what can be moved: cannot just now, whatever is allowed
  std::uint64_t brought;         // of what Unified Memory claims (unified/claim.h): is on the GPU
  bool is_exchanged;             // pages of views are, and no captured call may meet that
  std::atomic<bool> is_faulted;  // all contexts are lost, and nothing moves; changed with the lock
  // Grows with everything that somebody may wait for: a futex.
  std::atomic<std::uint32_t> changes;
};

extern os::FutexLock lock;
extern vmm::RegionTable regions;
extern vmm::Arenas arenas;
extern vmm::HostRoom host_room;
extern vmm::StreamHeap stream_heap;  // which of the regions and pieces are in what streams' order
extern Room rooms[gate::kGpusMax];

// All of these with the lock held.
std::uint64_t on_device(int gpu);      // with what is being backed
std::uint64_t staying(int gpu);        // of that: is not to leave just now (ADR 29)
std::uint64_t allowance(int gpu);      // by the daemon's word, but for what stays
std::uint64_t may_have_more(int gpu);  // bytes, by the daemon's word
// How many of these are too many, by what programs are to see; 0: they may be allocated.
std::uint64_t lacking(int gpu, std::uint64_t bytes);
bool has_little_room(int gpu);  // by the daemon's word, to grow into
void changed(int gpu);          // wakes whoever waits
void all_changed();

// Waits until the number of changes is not `seen` any more, for so long at most. Without the lock.
void wait_for_change(int gpu, std::uint32_t seen, std::int64_t timeout_ns);

// Waits for the daemon's first word about a GPU's memory: two that come at once must not both take
// all there is. One that says nothing for a second is not waited for again. Without the lock.
void wait_for_word(int gpu);

void start_over_in_child();

}  // namespace nvs::interposer::swap
