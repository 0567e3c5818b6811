// SPDX-License-Identifier: Apache-2.0
// A lock for code that may use no libc: one word, a futex where there is contention. All zero is
// unlocked, so it needs no constructor, and a forked child can start over by assigning a new one.
#pragma once

#include <atomic>

#include "os/linux_calls.h"

namespace nvs::os {

class FutexLock {
 public:
  void lock() {
    for (int i = 0; i < kSpins; ++i) {
      if (word_.load(std::memory_order_relaxed) == kFree && try_lock()) return;
      relax();
    }
    while (word_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      futex_wait(address(), kAwaited);
    }
  }

  bool try_lock() {
    uint32_t seen = kFree;
    return word_.compare_exchange_strong(seen, kTaken, std::memory_order_acquire);
  }

  void unlock() {
    if (word_.exchange(kFree, std::memory_order_release) == kAwaited) futex_wake(address(), 1);
  }

  // For the child of a fork, where nobody holds it any more.
  void reset() { word_.store(kFree, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kFree = 0;
  static constexpr uint32_t kTaken = 1;
  static constexpr uint32_t kAwaited = 2;
  // Most of what is done under a lock takes a few microseconds, and to be woken up takes 50.
  static constexpr int kSpins = 400;

  const volatile uint32_t* address() const {
    return reinterpret_cast<const volatile uint32_t*>(&word_);
  }

  std::atomic<uint32_t> word_{kFree};
};
static_assert(sizeof(FutexLock) == sizeof(uint32_t));

class FutexGuard {
 public:
  explicit FutexGuard(FutexLock& lock) : lock_(lock) { lock_.lock(); }
  ~FutexGuard() { lock_.unlock(); }
  FutexGuard(const FutexGuard&) = delete;
  FutexGuard& operator=(const FutexGuard&) = delete;

 private:
  FutexLock& lock_;
};

}  // namespace nvs::os
