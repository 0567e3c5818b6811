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

}  // namespace nvs::interposer::gate
