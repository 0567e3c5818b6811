// SPDX-License-Identifier: Apache-2.0
// Something that is done once in a process, by the thread that comes first; others that come
// meanwhile wait until it is done. Not so that thread itself, which may come again from within, by
// way of a malloc of the program's. And nobody waits for ever: the child of a fork may have lost
// the thread that was about to do it.
#pragma once

#include <atomic>
#include <cstdint>

#include <limits.h>

#include "os/linux_calls.h"

namespace nvs::interposer {

class Once {
 public:
  // True: it is to be done by the caller, who then calls end().
  bool begin() {
    const auto self = static_cast<std::uint32_t>(os::thread_id());
    std::uint32_t by = kNobody;
    if (by_.compare_exchange_strong(by, self, std::memory_order_acquire)) return true;
    const std::int64_t until_ns = os::monotonic_ns() + kPatience_ns;
    while (by != kDone && by != self) {
      const std::int64_t left_ns = until_ns - os::monotonic_ns();
      if (left_ns <= 0) return false;
      os::futex_wait(address(), by, left_ns);
      by = by_.load(std::memory_order_acquire);
    }
    return false;
  }

  void end() {
    by_.store(kDone, std::memory_order_release);
    os::futex_wake(address(), INT_MAX);
  }

 private:
  static constexpr std::uint32_t kNobody = 0;
  static constexpr std::uint32_t kDone = ~std::uint32_t{0};
  static constexpr std::int64_t kPatience_ns = 5'000'000'000;

  const volatile std::uint32_t* address() const {
    return reinterpret_cast<const volatile std::uint32_t*>(&by_);
  }

  std::atomic<std::uint32_t> by_{kNobody};  // the thread that does it; a futex
};

}  // namespace nvs::interposer
