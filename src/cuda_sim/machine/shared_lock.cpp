// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/shared_lock.h"

#include <bit>

#include "cuda_sim/machine/futex.h"

namespace nvs::sim {
namespace {

// How long a lock of microseconds is held before its owner is looked at.
constexpr Nanos kSuspicion = 20'000'000;
constexpr int kSpins = 200;

// Linux has less than 2^22 pids; the rest holds the start time, in hundredths of a second since
// boot, whole: cut to 32 bits it would be wrong on a host that has been up for 497 days.
constexpr unsigned kPidBits = 22;

std::uint64_t as_owner(const ProcessIdentity& identity) {
  return identity.start_time << kPidBits | static_cast<std::uint32_t>(identity.pid);
}

ProcessIdentity as_identity(std::uint64_t owner) {
  return {.pid = static_cast<std::int32_t>(owner & ((1U << kPidBits) - 1)),
          .start_time = owner >> kPidBits};
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

void SharedLock::lock() {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (try_lock()) return;
  }
  while (!try_lock()) {
    const std::uint64_t seen = owner_.load(std::memory_order_relaxed);
    if (seen == 0) continue;
    waiters_.fetch_add(1);
    const bool timed_out =
        !futex_wait(futex_word(owner_), static_cast<std::uint32_t>(seen), now_ns() + kSuspicion);
    waiters_.fetch_sub(1);
    if (timed_out && try_take_over(seen)) return;
  }
}

bool SharedLock::try_take_over(std::uint64_t seen) {
  const Liveness state = liveness(as_identity(seen));
  const bool take =
      state == Liveness::dead || (state == Liveness::stopped && policy_ == FromStopped::steal);
  return take && owner_.compare_exchange_strong(seen, self(), std::memory_order_acquire);
}

void SharedLock::unlock() {
  std::uint64_t me = self();
  // Somebody may have taken the lock from us while we were stopped: then it is not ours to free.
  if (!owner_.compare_exchange_strong(me, 0, std::memory_order_release)) return;
  if (waiters_.load() != 0) futex_wake(futex_word(owner_), 1);
}

}  // namespace nvs::sim
