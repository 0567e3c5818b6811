// SPDX-License-Identifier: Apache-2.0
// Kernels that wait for each other, on several GPUs or in several processes: a round starts when
// every member has submitted its part, and ends for all at once. Until then the parts that were
// submitted spin, and cannot be drained.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan.h"
#include "sim_time.h"

namespace nvs::sim {

class Collective {
 public:
  Collective(SimTime& time, const CollectivePlan& plan) : time_(time), plan_(plan) {}

  // `on_progress` is called when a round has ended or a rest is over.
  std::size_t add_member(std::function<void()> on_progress);
  // Whether the member has a part ready for which there is room.
  bool can_submit(std::size_t member) const;
  void submit(std::size_t member);
  // Parts that were submitted and have not ended.
  bool is_under_way(std::size_t member) const { return submitted_[member] > completed_; }
  // A member is gone: no round ends any more, until all begin anew.
  void break_down() { broken_ = true; }
  bool is_broken() const { return broken_; }
  void begin_anew();

 private:
  void start_round();
  void end_round();
  void tell_all();

  SimTime& time_;
  CollectivePlan plan_;
  std::vector<std::function<void()>> members_;
  std::vector<std::uint64_t> submitted_;
  std::uint64_t completed_ = 0;
  std::uint64_t goal_ = 0;  // where the next rest begins
  std::uint64_t generation_ = 0;
  bool running_ = false;
  bool broken_ = false;
};

}  // namespace nvs::sim
