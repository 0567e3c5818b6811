// SPDX-License-Identifier: Apache-2.0
// What a GPU owes to the lower classes. While tenants of a class wait, a small share of the time is
// put down for it; its windows pay it off. A class that is owed a whole window is served next,
// however many of a higher class have work.
#pragma once

#include <array>
#include <cstdint>

#include "base/instant.h"
#include "core/policy.h"

namespace nvs::core {

class ClassFloors {
 public:
  struct Activity {
    bool waits = false;
    bool runs = false;
  };
  using Activities = std::array<Activity, kPriorities>;  // by Priority

  // For a span in which the activities did not change; `window` is the length of one.
  void pass(Duration span, const Activities& activities, Duration window);

  Duration owed(Priority priority) const { return owed_[static_cast<std::size_t>(priority)]; }
  // Is it to be served next?
  bool is_due(Priority priority, Duration window) const {
    return priority != Priority::high && owed(priority) >= window;
  }

 private:
  std::array<Duration, kPriorities> owed_;
  std::array<std::int64_t, kPriorities> rest_{};  // thousandths of a nanosecond
};

}  // namespace nvs::core
