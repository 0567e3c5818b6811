// SPDX-License-Identifier: Apache-2.0
// The lock in a tenant's memory account, a futex between processes. Whoever adds holds it, so that
// of two who come at once not both are refused. It keeps nobody from adding who does not hold it:
// one who was stopped or killed with it is waited for a moment, and then it is taken from him.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/linux_calls.h"

namespace nvs::interposer::account {

class FileLock {
 public:
  static constexpr std::int64_t kPatience_ns = 100'000'000;

  // `mine` is not 0.
  FileLock(std::uint32_t& word, std::uint32_t mine) : word_(word), mine_(mine) {
    std::uint32_t seen = 0;
    is_held_ = replace(seen, mine_);
    if (!is_held_) wait(seen);
  }
  ~FileLock() {
    std::uint32_t seen = mine_;
    if (is_held_ && replace(seen, 0)) os::futex_wake_shared(&word_, 1);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  bool replace(std::uint32_t& seen, std::uint32_t by) {
    return std::atomic_ref(word_).compare_exchange_strong(seen, by, std::memory_order_seq_cst);
  }

  void wait(std::uint32_t seen) {
    const std::int64_t until_ns = os::monotonic_ns() + kPatience_ns;
    for (std::int64_t left_ns = kPatience_ns; left_ns > 0 && !is_held_;) {
      os::futex_wait_shared(&word_, seen, left_ns);
      seen = 0;
      is_held_ = replace(seen, mine_);
      left_ns = until_ns - os::monotonic_ns();
    }
    if (!is_held_) is_held_ = replace(seen, mine_);
  }

  std::uint32_t& word_;
  std::uint32_t mine_;
  bool is_held_ = false;
};

}  // namespace nvs::interposer::account
