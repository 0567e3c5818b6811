// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/take_room.h"

#include "interposer/memory/graph_room.h"
#include "interposer/memory/swap/backing.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::swap {
namespace {

// Somebody who waits for room looks again at least so often: the daemon may be gone.
constexpr std::int64_t kLookAgain_ns = 50'000'000;
// The driver lacks memory that we may have: others still have to give it back. Or streams of our
// own have yet to get past a free.
constexpr std::int64_t kShortPause_ns = 2'000'000;
constexpr std::int64_t kShortPatience_ns = 20'000'000'000;
// With others there is less than the daemon thinks after so long: room is asked for anew.
constexpr std::int64_t kSharedPatience_ns = 20'000'000;
// The same where nobody else is known to be there.
constexpr std::int64_t kAlonePatience_ns = 300'000'000;

enum class Taken : std::uint8_t { yes, not_yet, never };

// With the lock held.
Taken try_to_take(int gpu, std::uint64_t bytes, std::uint64_t& lacks) {
  lacks = lacking(gpu, bytes);
  if (lacks != 0) return Taken::never;
  if (may_have_more(gpu) < bytes) return Taken::not_yet;
  rooms[gpu].backing += bytes;
  return Taken::yes;
}

std::int64_t patience_ns(int gpu, Made made) {
  if (made == Made::later) return kShortPatience_ns;
  return is_shared(gpu) ? kSharedPatience_ns : kAlonePatience_ns;
}

}  // namespace

bool is_shared(int gpu) {
  const os::FutexGuard guard(lock);
  return rooms[gpu].shared;
}

bool take_room(int gpu, std::uint64_t bytes, bool asks) {
  Taken taken = asks ? Taken::not_yet : Taken::never;
  std::int64_t waited_ns = 0;
  for (;;) {
    std::uint32_t seen = 0;
    std::uint64_t lacks = 0;
    {
      const os::FutexGuard guard(lock);
      Room& room = rooms[gpu];
      seen = room.changes.load(std::memory_order_relaxed);
      if (taken == Taken::not_yet) room.asked -= bytes;
      if (room.is_faulted) return false;
      taken = try_to_take(gpu, bytes, lacks);
      if (taken == Taken::yes) return true;
      if (taken == Taken::not_yet) room.asked += bytes;
    }
    const Made made = make_room(gpu, bytes);
    if (made == Made::room) continue;
    if (lacks != 0 && memory::graphs::make_way(gpu, lacks)) continue;
    const bool is_soon = made == Made::later && waited_ns < kShortPatience_ns;
    if (taken == Taken::never && !is_soon) return false;
    if (taken == Taken::not_yet) session::tell_holds(gpu);
    wait_for_change(gpu, seen, is_soon ? kShortPause_ns : kLookAgain_ns);
    waited_ns += kShortPause_ns;
  }
}

void give_room(int gpu, std::uint64_t bytes) {
  const os::FutexGuard guard(lock);
  rooms[gpu].backing -= bytes;
  changed(gpu);
}

void ask_again(int gpu, std::uint64_t bytes, std::uint64_t anew) {
  {
    const os::FutexGuard guard(lock);
    rooms[gpu].backing -= bytes;
    rooms[gpu].asked += anew;
    rooms[gpu].is_short = true;
    changed(gpu);
  }
  session::tell_holds(gpu);
  os::sleep_ns(kShortPause_ns);
}

void set_short(int gpu, bool is_short) {
  {
    const os::FutexGuard guard(lock);
    if (rooms[gpu].is_short == is_short) return;
    rooms[gpu].is_short = is_short;
  }
  session::tell_holds(gpu);
}

CUresult back_patiently(int gpu, std::uint64_t address, std::uint64_t bytes,
                        std::uint64_t& handle) {
  std::int64_t waited_ns = 0;
  for (;;) {
    const CUresult result = back(gpu, address, bytes, handle);
    if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
    const Made made = make_room(gpu, bytes);
    if (made == Made::room) continue;
    if (waited_ns >= patience_ns(gpu, made) || rooms[gpu].is_faulted) return result;
    os::sleep_ns(kShortPause_ns);
    waited_ns += kShortPause_ns;
  }
}

}  // namespace nvs::interposer::swap
