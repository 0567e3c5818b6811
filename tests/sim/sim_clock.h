// SPDX-License-Identifier: Apache-2.0
// The daemon's clock, which is not the world's time: it can stand still and jump ahead. It does not
// go back.
#pragma once

#include <optional>

#include "sim_time.h"

namespace nvs::sim {

// From a timer's time to the step that it causes.
inline constexpr Duration kTimerLate = Duration::from_us(20);

class SimClock {
 public:
  explicit SimClock(const SimTime& time) : time_(time) {}

  Instant now() const { return stopped_ ? *stopped_ : time_.now() + ahead_; }
  // When the world's time will be what the clock shows as `shown`; nothing while it stands still.
  std::optional<Instant> when(Instant shown) const {
    return stopped_ ? std::nullopt : std::optional(shown - ahead_);
  }
  void jump(Duration span) {
    ahead_ += span;
    if (stopped_) *stopped_ += span;
  }
  void stop() {
    if (!stopped_) stopped_ = now();
  }
  // It goes on from where it stood.
  void go_on() {
    if (!stopped_) return;
    ahead_ = *stopped_ - time_.now();
    stopped_.reset();
  }

 private:
  const SimTime& time_;
  Duration ahead_;
  std::optional<Instant> stopped_;
};

}  // namespace nvs::sim
