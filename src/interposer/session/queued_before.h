// SPDX-License-Identifier: Apache-2.0
// What had been queued when a drain first let somebody in, and whether it gets on. Whoever is let
// in brings work that does, though what it was let in for may never end. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "interposer/flow/flow.h"

namespace nvs::interposer::session {

// What is queued is a guess, and a process that was stopped has learnt nonsense.
inline constexpr std::int64_t kExpectedMax_ns = 1'000'000'000;

// For how long nothing has got on that should have.
inline std::int64_t stuck_ns(std::int64_t now_ns, std::int64_t progress_ns,
                             std::int64_t expected_ns) {
  return now_ns - progress_ns - 3 * std::min<std::int64_t>(expected_ns, kExpectedMax_ns);
}

class QueuedBefore {
 public:
  // Said until somebody is let in.
  void begin(std::int64_t now_ns, std::int64_t expected_ns) {
    until_ = 0;
    progress_ns_ = now_ns;
    expected_ns_ = expected_ns;
  }
  void note(std::int64_t now_ns, const flow::Look& look) {
    const bool is_first = until_ == 0;
    if (is_first) until_ = look.next;
    const std::uint64_t oldest = std::min<std::uint64_t>(look.oldest, until_);
    if (!is_first && oldest == oldest_) return;
    oldest_ = oldest;
    progress_ns_ = now_ns;
    expected_ns_ = look.remaining_ns;
  }
  // The process did not run, and has not seen the GPU get on.
  void leave_out(std::int64_t span_ns) { progress_ns_ += span_ns; }
  std::int64_t stuck_for_ns(std::int64_t now_ns) const {
    return stuck_ns(now_ns, progress_ns_, expected_ns_);
  }

 private:
  std::uint64_t until_ = 0;       // its marks have numbers below that; 0: not looked at yet
  std::uint64_t oldest_ = 0;      // the first of them that is left
  std::int64_t progress_ns_ = 0;  // when it last got on
  std::int64_t expected_ns_ = 0;  // GPU time that was queued then
};

}  // namespace nvs::interposer::session
