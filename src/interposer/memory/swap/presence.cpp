// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/presence.h"

#include <bit>

#include "interposer/memory/swap/rooms.h"
#include "interposer/session/session.h"

namespace nvs::interposer::swap {
namespace {

constexpr std::int64_t kLookAgain_ns = 50'000'000;

constinit int inside = 0;  // guarded by the lock

// With the lock held.
bool is_there(int gpu) {
  const vmm::Sums sums = regions.sums(gpu);
  return sums.total() == sums.resident || rooms[gpu].is_faulted;  // or nothing comes any more
}

struct Missing {
  int gpu;  // -1: none
  std::uint32_t changes;
};

Missing enter_unless_missing(std::uint32_t gpus) {
  const os::FutexGuard guard(lock);
  for (; gpus != 0; gpus &= gpus - 1) {
    const int gpu = std::countr_zero(gpus);
    if (!is_there(gpu)) return {gpu, rooms[gpu].changes.load(std::memory_order_acquire)};
  }
  ++inside;
  return {-1, 0};
}

}  // namespace

void enter_captured(std::uint32_t gpus) {
  for (;;) {
    const Missing missing = enter_unless_missing(gpus);
    if (missing.gpu < 0) return;
    session::want(missing.gpu);
    wait_for_change(missing.gpu, missing.changes, kLookAgain_ns);
  }
}

void leave_captured() {
  const os::FutexGuard guard(lock);
  --inside;
}

bool is_captured_inside() { return inside > 0; }

void forget_captured_in_child() { inside = 0; }

}  // namespace nvs::interposer::swap
