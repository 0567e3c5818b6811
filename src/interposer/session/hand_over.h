// SPDX-License-Identifier: Apache-2.0
// How short a handover can be made. When a drain may be told a moment before its end: where the
// next one's work is brief and our next window follows at once, and the end is known well. The word
// takes a while until the next one's work is submitted, and then the GPU is free for it. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nvs::interposer::session {

// From the word to the next one's submission it takes 20 us where all are awake, at times 60, and
// 10 to 20 more until that is on the GPU. Work that is submitted too early costs nearly as much as
// work that is late, and not more than the driver's slicing.
inline constexpr std::int64_t kHandOverLead_ns = 55'000;
// A thread that sleeps wakes up some 50 us late, at times 250, so the rest is not slept through.
inline constexpr std::int64_t kHandOverAwake_ns = 200'000;

// A program that takes its next request from a queue needs 12 us for it, and more where the host is
// slow. Whoever mostly sleeps after a request waits so long until it says that the GPU is free.
inline constexpr std::int64_t kLetGoAfter_ns = 5'000;
// And so long after that until it closes: the next one's work is there 20 to 35 us after the word,
// and what comes in before it does not wait for that.
inline constexpr std::int64_t kNextRequest_ns = 15'000;
// What comes too late waits until the other one's kernel has ended. Where that is long, both may be
// so much longer (ADR-0034).
inline constexpr std::int64_t kPatienceOfWait = 250;
// Beside the 300 us that it costs to hand the GPU over and back.
inline constexpr std::int64_t kPatienceMax_ns = 60'000;

struct Patience {
  std::int64_t lets_go_ns;  // after its work is done
  std::int64_t closes_ns;   // after that; or after its work, where that is not known for certain
};
// Of whoever waits for its windows that long on average, which is half of a kernel.
inline Patience patience_for(std::int64_t waits_ns) {
  const std::int64_t worth_ns = std::min<std::int64_t>(waits_ns / kPatienceOfWait, kPatienceMax_ns);
  return {std::max<std::int64_t>(worth_ns, kLetGoAfter_ns),
          std::max<std::int64_t>(worth_ns, kNextRequest_ns)};
}

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
