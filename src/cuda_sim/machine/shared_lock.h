// SPDX-License-Identifier: Apache-2.0
// A lock in the shared segment whose owner may be killed, or stopped, at any instruction. Whoever
// meets a dead owner takes the lock over; what it guards must therefore be right, or be made right,
// after any prefix of a critical section.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda_sim/machine/process_identity.h"

namespace nvs::sim {

/// Whether a lock is also taken from a process that was stopped (SIGSTOP) while holding it. Only
/// for data in which a late write of the old owner does no more than shift a time.
enum class FromStopped { wait, steal };

class SharedLock {
 public:
  explicit SharedLock(FromStopped policy) : policy_(policy) {}
  SharedLock(const SharedLock&) = delete;
  SharedLock& operator=(const SharedLock&) = delete;

  void lock();
  void unlock();

 private:
  bool try_lock();
  bool try_take_over(std::uint64_t seen);

  // The owner's pid and, above it, its start time: one word, because an owner can be killed between
  // two. 0: free. The low half is the futex.
  std::atomic<std::uint64_t> owner_{0};
  std::atomic<std::uint32_t> waiters_{0};
  FromStopped policy_;
};

}  // namespace nvs::sim
