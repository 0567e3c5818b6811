// SPDX-License-Identifier: Apache-2.0
// How long a program has waited for its turn on one GPU, in all. It runs while a thread stands at
// the gate and none of the program's work is left on the GPU. Pure: time is an argument. Read by
// any thread at any time, written under a lock of the owner's.
#pragma once

#include <atomic>
#include <cstdint>

namespace nvs::interposer::events {

class WaitClock {
 public:
  // Both do nothing if it runs already, or stands.
  void start(std::int64_t now_ns) {
    const std::int64_t word = word_.load(std::memory_order_relaxed);
    if (word >= 0) word_.store(word - now_ns, std::memory_order_release);
  }
  void stop(std::int64_t now_ns) {
    const std::int64_t word = word_.load(std::memory_order_relaxed);
    if (word >= 0) return;
    const std::int64_t total_ns = word + now_ns;
    word_.store(total_ns > 0 ? total_ns : 0, std::memory_order_release);
  }
  void reset() { word_.store(0, std::memory_order_release); }

  bool is_at_zero() const { return word_.load(std::memory_order_acquire) == 0; }

  // The time is asked for only while it runs.
  template <class Now>
  std::int64_t read_ns(Now now_ns) const {
    const std::int64_t word = word_.load(std::memory_order_acquire);
    return word >= 0 ? word : word + now_ns();
  }

 private:
  // One word, so that a reader needs no lock: the total while it stands, and while it runs the
  // total less the time at which it started. A process began after the machine's clock did, so this
  // is negative.
  std::atomic<std::int64_t> word_{0};
};

}  // namespace nvs::interposer::events
