// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/presence.h"

#include "interposer/gate/gate.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/captures.h"
#include "interposer/session/session.h"

namespace nvs::interposer::swap {
namespace {

constexpr std::int64_t kLookAgain_ns = 50'000'000;

// With the lock held.
bool is_there(int gpu) {
  const vmm::Sums sums = regions.sums(gpu);
  if (rooms[gpu].is_exchanged) return false;
  return sums.total() == sums.resident || rooms[gpu].is_faulted;  // or nothing comes any more
}

}  // namespace

// Which gates are closed is asked with the lock held, each time: a gate is closed before anything
// of its GPU is chosen to leave under that lock, and any may have been since the last look.
Missing find_missing() {
  const os::FutexGuard guard(lock);
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (!gate::is_closed(gpu) || is_there(gpu)) continue;
    return {gpu, rooms[gpu].changes.load(std::memory_order_acquire)};
  }
  return {-1, 0};
}

void wait_for(const Missing& missing) {
  session::want(missing.gpu);
  wait_for_change(missing.gpu, missing.changes, kLookAgain_ns);
}

bool is_kept() { return captures::keep_memory(clock_ns()) || gate::is_captured_inside(); }

}  // namespace nvs::interposer::swap
