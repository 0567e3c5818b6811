// SPDX-License-Identifier: Apache-2.0
// How short a handover can be made. When a drain may be told a moment before its end: where the
// next one's work is brief and our next window follows at once, and the end is known well. The word
// takes a while until the next one's work is submitted, and then the GPU is free for it. Pure.
#pragma once

#include <cstdint>

namespace nvs::interposer::session {

// From the word to the next one's submission it takes 20 us where all are awake, at times 60, and
// 10 to 20 more until that is on the GPU. Work that is submitted too early costs nearly as much as
// work that is late, and not more than the driver's slicing.
inline constexpr std::int64_t kHandOverLead_ns = 55'000;
// A thread that sleeps wakes up some 50 us late, at times 250, so the rest is not slept through.
inline constexpr std::int64_t kHandOverAwake_ns = 200'000;

// A program that takes its next request from a queue needs 12 us for it. Whoever mostly sleeps
// after a request waits so long until it says that the GPU is free: the next one's work is there 20
// to 35 us later, and what comes in before it does not wait for that.
inline constexpr std::int64_t kLetGoAfter_ns = 5'000;
// And no longer than this until it closes.
inline constexpr std::int64_t kNextRequest_ns = 15'000;

struct HandOver {
  bool is_due;
  std::int64_t look_again_ns;
};

// As a look at the queue has it.
inline HandOver hand_over(std::int64_t ends_in_ns, std::int64_t look_again_ns) {
  // Before the last of it runs nobody knows when it will end.
  if (ends_in_ns <= 0) return {false, look_again_ns};
  const std::int64_t left_ns = ends_in_ns - kHandOverLead_ns;
  if (left_ns <= 0) return {true, 0};
  return {false, left_ns > kHandOverAwake_ns ? left_ns - kHandOverAwake_ns : 0};
}

}  // namespace nvs::interposer::session
