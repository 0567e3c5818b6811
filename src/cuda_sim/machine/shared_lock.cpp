// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/shared_lock.h"

#include <bit>

#include "cuda_sim/machine/futex.h"

namespace nvs::sim {
namespace {

// How long a lock of microseconds is held before its owner is looked at.
constexpr Nanos kSuspicion = 20'000'000;
constexpr int kSpins = 200;

std::uint64_t as_owner(const ProcessIdentity& identity) {
  return identity.start_time << 32 | static_cast<std::uint32_t>(identity.pid);
}

// A fork child has its parent's thread-locals and a pid of its own.
std::uint64_t self() {
  static thread_local std::uint64_t owner = 0;
  static thread_local std::int32_t known_pid = 0;
  if (const std::int32_t pid = current_pid(); pid != known_pid) {
    owner = as_owner(own_identity());
    known_pid = pid;
  }
  return owner;
}

std::atomic<std::uint32_t>& futex_word(std::atomic<std::uint64_t>& owner) {
  static_assert(std::endian::native == std::endian::little);
  return reinterpret_cast<std::atomic<std::uint32_t>&>(owner);
}

}  // namespace

bool SharedLock::try_lock() {
  std::uint64_t free = 0;
  return owner_.compare_exchange_strong(free, self(), std::memory_order_acquire);
}

// The half that holds the pid. Sleepers that miss a change of the other half wake up at their
// deadline.
std::atomic<std::uint32_t>& SharedLock::futex_word() {
  static_assert(std::endian::native == std::endian::little);
  return reinterpret_cast<std::atomic<std::uint32_t>&>(owner_);
}

void SharedLock::lock() {
  const std::uint64_t me = self();
  for (int spin = 0; spin < 200; ++spin) {
    std::uint64_t free = 0;
    if (owner_.compare_exchange_weak(free, me, std::memory_order_acquire)) return;
  }
  for (;;) {
    std::uint64_t seen = 0;
    if (owner_.compare_exchange_strong(seen, me, std::memory_order_acquire)) return;
    waiters_.fetch_add(1);
    const bool timed_out =
        !futex_wait(futex_word(), static_cast<std::uint32_t>(seen), now_ns() + kSuspicion);
    waiters_.fetch_sub(1);
    if (timed_out && try_take_over(seen)) return;
  }
}

bool SharedLock::try_take_over(std::uint64_t seen) {
  const Liveness state = liveness(unpack(seen));
  const bool take =
      state == Liveness::dead || (state == Liveness::stopped && policy_ == FromStopped::steal);
  return take && owner_.compare_exchange_strong(seen, self(), std::memory_order_acquire);
}

void SharedLock::unlock() {
  std::uint64_t me = self();
  // Somebody may have taken the lock from us while we were stopped: then it is not ours to free.
  if (!owner_.compare_exchange_strong(me, 0, std::memory_order_release)) return;
  if (waiters_.load() != 0) futex_wake(futex_word(), 1);
}

}  // namespace nvs::sim
