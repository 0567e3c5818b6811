// SPDX-License-Identifier: Apache-2.0
// What the daemon bills us of a window, and what of it we had work in: the difference is told with
// the next Idle, Busy or Drained. Pure: the clock and the sight of the queue are the caller's, who
// may look late; pauses that came and went between two looks count all the same.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wire/messages.h"

namespace nvs::interposer::session {

// What a look at the queue shows.
struct WorkSight {
  bool idle;               // nothing to do, for so long that it counts as a pause
  std::int64_t quiet_ns;   // since when
  std::int64_t paused_ns;  // all pauses that have ended, ever
  // All that was submitted is known. Else work may have gone on while there seemed to be none, so
  // that only what was told counts as a pause, and of what followed only the latest work.
  bool certain = true;
  std::int64_t busy_ns = 0;  // since that began
};

class WorkAccount {
 public:
  // A word to the daemon: that we are idle, and so much too much was billed; or that we are busy,
  // and so much was not.
  struct Word {
    bool due;
    bool idle;
    std::int64_t span_ns;
  };
  // The difference is worth a word of its own from this on.
  static constexpr std::int64_t kWorthTelling_ns = 1'000'000;

  // The daemon bills us from now on, or has been told of a window and does not.
  void begin(std::int64_t now_ns, std::int64_t paused_ns, bool billed) {
    add_up(now_ns, 0);
    billed_ = billed;
    at_ns_ = now_ns;
    paused_ns_ = paused_ns;
    pause_before_ns_ = 0;
  }
  // It does not, and there is nothing to tell.
  void end(std::int64_t now_ns) { begin(now_ns, paused_ns_, false); }

  Word next(std::int64_t now_ns, const WorkSight& sight) const {
    const std::int64_t worked_ns = worked(now_ns, sight);
    if (billed_) {
      const std::int64_t excess_ns = now_ns - at_ns_ - worked_ns;
      return {sight.idle || excess_ns >= kWorthTelling_ns, true, within_limits(excess_ns)};
    }
    return {!sight.idle || worked_ns >= kWorthTelling_ns, false, within_limits(worked_ns)};
  }
  // That was said.
  void told(const Word& word, std::int64_t now_ns, const WorkSight& sight) {
    add_up(now_ns, word.idle ? -word.span_ns : word.span_ns);
    billed_ = !word.idle;
    at_ns_ = now_ns;
    paused_ns_ = sight.paused_ns;
    pause_before_ns_ = sight.idle && sight.certain ? sight.quiet_ns : 0;
  }

  // What daemons have billed, for one that comes back.
  std::int64_t used_ns(std::int64_t now_ns) const {
    return used_ns_ + (billed_ ? now_ns - at_ns_ : 0);
  }
  bool is_billed() const { return billed_; }

 private:
  void add_up(std::int64_t now_ns, std::int64_t correction_ns) {
    used_ns_ = std::max<std::int64_t>(used_ns(now_ns) + correction_ns, 0);
  }
  static std::int64_t within_limits(std::int64_t span_ns) {
    return std::min<std::int64_t>(span_ns, wire::kLongest_ns);
  }
  // Of the time since the last word.
  std::int64_t worked(std::int64_t now_ns, const WorkSight& sight) const {
    const std::int64_t span_ns = now_ns - at_ns_;
    if (!sight.certain && !billed_) {
      return sight.idle ? 0 : std::min<std::int64_t>(sight.busy_ns, span_ns);
    }
    // The first pause to end may have begun before that word.
    const std::int64_t ended_ns = sight.paused_ns - paused_ns_ - pause_before_ns_;
    const bool is_quiet = sight.idle && sight.certain;
    const std::int64_t quiet_ns = is_quiet ? std::min<std::int64_t>(sight.quiet_ns, span_ns) : 0;
    const std::int64_t paused_ns = std::max<std::int64_t>(ended_ns, 0) + quiet_ns;
    return std::max<std::int64_t>(span_ns - paused_ns, 0);
  }

  bool billed_ = false;
  std::int64_t at_ns_ = 0;            // of the last word
  std::int64_t paused_ns_ = 0;        // all pauses that had ended by then
  std::int64_t pause_before_ns_ = 0;  // what of the pause under way had passed by then
  std::int64_t used_ns_ = 0;          // until then
};

}  // namespace nvs::interposer::session
