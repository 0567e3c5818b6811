// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/rooms.h"

#include <limits.h>

#include "interposer/memory/fixed.h"
#include "interposer/memory/unified/claim.h"

namespace nvs::interposer::swap {

constinit os::FutexLock lock;
constinit vmm::RegionTable regions;
constinit vmm::Arenas arenas;
constinit vmm::HostRoom host_room;
constinit vmm::StreamHeap stream_heap;
constinit Room rooms[gate::kGpusMax] = {};

namespace {

constexpr std::uint64_t kLittlePart = 8;
constexpr std::int64_t kFirstWord_ns = 1'000'000'000;

const volatile std::uint32_t* futex(int gpu) {
  return reinterpret_cast<const volatile std::uint32_t*>(&rooms[gpu].changes);
}

bool has_word(int gpu, std::uint32_t& seen) {
  const os::FutexGuard guard(lock);
  seen = rooms[gpu].changes.load(std::memory_order_relaxed);
  return rooms[gpu].number != 0 || rooms[gpu].is_free;
}

}  // namespace

std::uint64_t on_device(int gpu) {
  return regions.sums(gpu).on_device() + rooms[gpu].backing + unified::resident(gpu);
}

std::uint64_t staying(int gpu) {
  const std::uint64_t resident = regions.sums(gpu).resident;
  return rooms[gpu].stays < resident ? rooms[gpu].stays : resident;
}

std::uint64_t allowance(int gpu) {
  if (rooms[gpu].number == 0) return kNoLimit;
  const std::uint64_t stays = staying(gpu);
  return rooms[gpu].allowed < stays ? stays : rooms[gpu].allowed;
}

std::uint64_t may_have_more(int gpu) {
  if (rooms[gpu].number == 0) return kNoLimit;
  const std::uint64_t has = on_device(gpu);
  return allowance(gpu) > has ? allowance(gpu) - has : 0;
}

std::uint64_t lacking(int gpu, std::uint64_t bytes) {
  const Room& room = rooms[gpu];
  if (room.total == 0) return 0;
  const std::uint64_t has = regions.sums(gpu).total() + regions.pinned(gpu).total() + room.backing +
                            room.asked + memory::fixed_on(gpu);
  if (has <= room.limit) return bytes > room.limit - has ? bytes - (room.limit - has) : 0;
  const std::uint64_t above = has - room.limit;
  return bytes < kNoLimit - above ? bytes + above : kNoLimit;
}

// Where all fit, each is allowed a good part of what is free. What is not ours has no part in it:
// it never moves, and without a context nothing can be got ready for that.
bool has_little_room(int gpu) {
  const Room& room = rooms[gpu];
  const std::uint64_t wanted = room.backing + room.asked;
  const std::uint64_t needs = regions.sums(gpu).total() + unified::claimed(gpu) +
                              (wanted > room.for_driver ? wanted - room.for_driver : 0);
  return room.shared && room.number != 0 && room.allowed < needs + needs / kLittlePart;
}

void changed(int gpu) {
  rooms[gpu].changes.fetch_add(1, std::memory_order_release);
  os::futex_wake(futex(gpu), INT_MAX);
}

void all_changed() {
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) changed(gpu);
}

void wait_for_change(int gpu, std::uint32_t seen, std::int64_t timeout_ns) {
  if (rooms[gpu].changes.load(std::memory_order_acquire) != seen) return;
  os::futex_wait(futex(gpu), seen, timeout_ns);
}

void wait_for_word(int gpu) {
  std::uint32_t seen = 0;
  const std::int64_t until_ns = os::monotonic_ns() + kFirstWord_ns;
  while (!has_word(gpu, seen)) {
    const std::int64_t left_ns = until_ns - os::monotonic_ns();
    if (left_ns > 0) {
      wait_for_change(gpu, seen, left_ns);
      continue;
    }
    const os::FutexGuard guard(lock);
    rooms[gpu].is_free = true;
  }
}

void start_over_in_child() {
  lock.reset();
  regions.forget();
  arenas.forget();
  host_room.forget();
  for (Room& room : rooms) {
    room.allowed = room.number = room.total = room.limit = 0;
    room.backing = room.asked = room.for_driver = room.copied_out = room.copied_in = 0;
    room.stays = room.brought = 0;
    room.is_faulted.store(false, std::memory_order_relaxed);
    room.is_free = room.shared = room.is_crowded = room.is_short = false;
    room.changes.store(0, std::memory_order_relaxed);
  }
}

}  // namespace nvs::interposer::swap
