// SPDX-License-Identifier: Apache-2.0
// How whoever closes the gate waits for the calls inside: awake at first, then in pauses that grow,
// and not for ever.
#pragma once

#include <cstdint>

#include "interposer/resolve/clock.h"
#include "os/linux_calls.h"

namespace nvs::interposer::gate {

// A pause that grows: most calls are over in microseconds, some copies take seconds.
class Backoff {
 public:
  void pause() {
    if (rounds_ < kSpins) {
      ++rounds_;
      return;
    }
    os::sleep_ns(sleep_ns_);
    sleep_ns_ = sleep_ns_ * 2 < kLongest_ns ? sleep_ns_ * 2 : kLongest_ns;
  }
  bool is_slow() const { return sleep_ns_ == kLongest_ns; }

 private:
  static constexpr int kSpins = 100;
  static constexpr std::int64_t kShortest_ns = 5'000;
  static constexpr std::int64_t kLongest_ns = 1'000'000;
  int rounds_ = 0;
  std::int64_t sleep_ns_ = kShortest_ns;
};

class Deadline {
 public:
  explicit Deadline(std::int64_t timeout_ns)
      : at_ns_(timeout_ns < 0 ? -1 : clock_ns() + timeout_ns) {}
  bool is_over() const { return at_ns_ >= 0 && clock_ns() >= at_ns_; }

 private:
  std::int64_t at_ns_;
};

}  // namespace nvs::interposer::gate
