// SPDX-License-Identifier: Apache-2.0
// What a program's pauses, and its waits for windows, were like lately. They tell what to expect of
// the next ones: whether it pays to hand the GPU over at once, and how long whoever does so too
// early will wait for it. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nvs::interposer::flow {

class Habits {
 public:
  // A pause is long if handing the GPU over and back pays off.
  static constexpr std::int64_t kLongPause_ns = 400'000;
  static constexpr int kPausesMax = 8;
  // Nobody is more patient for longer waits, and one for memory is soon forgotten.
  static constexpr std::int64_t kWaitMax_ns = 16'000'000;

  void paused(std::int64_t span_ns) {
    pauses_ = std::clamp(pauses_ + (span_ns > kLongPause_ns ? 1 : -1), -kPausesMax, kPausesMax);
  }
  void waited(std::int64_t span_ns) {
    constexpr std::int64_t kWeight = 8;
    waits_ns_ += (std::clamp<std::int64_t>(span_ns, 0, kWaitMax_ns) - waits_ns_) / kWeight;
  }

  bool sleeps_long() const { return pauses_ > 0; }
  bool mostly_sleeps() const { return pauses_ >= kPausesMax / 2; }
  // On average.
  std::int64_t waits_ns() const { return waits_ns_; }

 private:
  int pauses_ = 0;  // how many more long ones than short ones there were, as far as kPausesMax
  std::int64_t waits_ns_ = 0;
};

}  // namespace nvs::interposer::flow
