// SPDX-License-Identifier: Apache-2.0
#include "collective.h"

#include <algorithm>

namespace nvs::sim {

std::size_t Collective::add_member(std::function<void()> on_progress) {
  members_.push_back(std::move(on_progress));
  submitted_.push_back(0);
  goal_ = plan_.rounds;
  return members_.size() - 1;
}

bool Collective::can_submit(std::size_t member) const {
  if (broken_ || submitted_[member] >= completed_ + plan_.ahead) return false;
  return plan_.rounds == 0 || submitted_[member] < goal_;
}

void Collective::submit(std::size_t member) {
  ++submitted_[member];
  start_round();
}

void Collective::begin_anew() {
  ++generation_;
  broken_ = running_ = false;
  completed_ = 0;
  goal_ = plan_.rounds;
  std::fill(submitted_.begin(), submitted_.end(), 0);
}

void Collective::start_round() {
  const auto slowest = std::min_element(submitted_.begin(), submitted_.end());
  if (running_ || broken_ || *slowest <= completed_) return;
  running_ = true;
  time_.after(plan_.round, [this, generation = generation_] {
    if (generation == generation_ && !broken_) end_round();
  });
}

void Collective::end_round() {
  running_ = false;
  ++completed_;
  if (plan_.rounds != 0 && completed_ == goal_) {
    time_.after(plan_.rest, [this, generation = generation_] {
      if (generation != generation_) return;
      goal_ += plan_.rounds;
      tell_all();
    });
  }
  start_round();
  tell_all();
}

void Collective::tell_all() {
  for (const std::function<void()>& on_progress : members_) on_progress();
}

}  // namespace nvs::sim
