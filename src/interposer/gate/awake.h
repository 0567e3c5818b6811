// SPDX-License-Identifier: Apache-2.0
// Who may stay awake at a closed gate. Threads that spin burn the CPU that the thread which opens
// the gate needs, so there are few of them, however many wait; the others sleep.
#pragma once

#include <atomic>
#include <cstdint>

namespace nvs::interposer::gate {

inline constexpr int kAwakeMax = 2;

// A place is taken until a time, after which anybody may have it: a thread that leaves by a jump
// out of a signal handler does not give it back.
class AwakePlaces {
 public:
  // The place taken; -1: there is none.
  int take(std::int64_t now_ns, std::int64_t until_ns) {
    for (int i = 0; i < kAwakeMax; ++i) {
      std::int64_t taken_until_ns = until_ns_[i].load(std::memory_order_relaxed);
      if (taken_until_ns > now_ns) continue;
      if (until_ns_[i].compare_exchange_strong(taken_until_ns, until_ns)) return i;
    }
    return -1;
  }
  void give_back(int place, std::int64_t until_ns) {
    until_ns_[place].compare_exchange_strong(until_ns, 0);
  }

 private:
  std::atomic<std::int64_t> until_ns_[kAwakeMax] = {};
};

// Where there are not enough processors, or the process may use only so much of them, whoever stays
// awake takes from others and from itself. Who was kept from running sleeps instead for a while,
// and for twice as long if that was of no use.
class Wakefulness {
 public:
  // In a wait of a millisecond. What the host of a virtual machine takes is not part of it.
  static constexpr std::int64_t kKeptFromRunning_ns = 500'000;
  static constexpr std::int64_t kShortest_ns = 1'000'000'000;
  static constexpr std::int64_t kLongest_ns = 64 * kShortest_ns;

  bool may_stay_awake(std::int64_t now_ns) const {
    return now_ns >= asleep_until_ns_.load(std::memory_order_relaxed);
  }
  void forget() { asleep_until_ns_.store(0, std::memory_order_relaxed); }
  // Threads may say so at once: all mean the same.
  void kept_from_running(std::int64_t now_ns) {
    const std::int64_t until_ns = asleep_until_ns_.load(std::memory_order_relaxed);
    if (now_ns < until_ns) return;
    const std::int64_t before_ns = span_ns_.load(std::memory_order_relaxed);
    const bool again = before_ns != 0 && now_ns - until_ns < before_ns;
    const std::int64_t twice_ns = before_ns < kLongest_ns / 2 ? 2 * before_ns : kLongest_ns;
    const std::int64_t span_ns = again ? twice_ns : kShortest_ns;
    span_ns_.store(span_ns, std::memory_order_relaxed);
    asleep_until_ns_.store(now_ns + span_ns, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t> asleep_until_ns_{0};
  std::atomic<std::int64_t> span_ns_{0};
};

}  // namespace nvs::interposer::gate
