// SPDX-License-Identifier: Apache-2.0
// The time of a simulated world, and what is to happen in it: things happen in the order of their
// times, and those of one instant in the order in which they were planned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/instant.h"

namespace nvs::sim {

class SimTime {
 public:
  using Action = std::function<void()>;

  Instant now() const { return now_; }

  void at(Instant when, Action action) {
    planned_.push_back({std::max(when, now_), order_++, std::move(action)});
    std::push_heap(planned_.begin(), planned_.end(), later);
  }
  void after(Duration span, Action action) { at(now_ + span, std::move(action)); }

  // Lets the next thing happen; false if there is none up to then.
  bool advance(Instant end) {
    if (planned_.empty() || planned_.front().when > end) return false;
    std::pop_heap(planned_.begin(), planned_.end(), later);
    const Planned next = std::move(planned_.back());
    planned_.pop_back();
    now_ = next.when;
    next.action();
    return true;
  }

 private:
  struct Planned {
    Instant when;
    std::uint64_t order;
    Action action;
  };
  static bool later(const Planned& a, const Planned& b) {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
  }

  Instant now_;
  std::uint64_t order_ = 0;
  std::vector<Planned> planned_;
};

}  // namespace nvs::sim
