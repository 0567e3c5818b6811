// SPDX-License-Identifier: Apache-2.0
#include "sim_gpu.h"

#include <algorithm>

namespace nvs::sim {

void SimGpu::settle() {
  const Duration span = time_.now() - settled_;
  settled_ = time_.now();
  if (running_.empty()) {
    if (awaited_) idle_while_awaited_ += span;
    return;
  }
  busy_ += span;
  const Duration each = span / static_cast<std::int64_t>(running_.size());
  for (SimWork* work : running_) {
    const Duration done = std::min(each, work->left_);
    work->left_ -= done;
    work->executed_ += done;
  }
}

void SimGpu::set_left(SimWork& work, Duration left) {
  settle();
  const bool was = std::find(running_.begin(), running_.end(), &work) != running_.end();
  work.left_ = std::clamp(left, Duration{}, kForever);
  if (was && work.left_ == Duration{}) std::erase(running_, &work);
  if (!was && work.left_ > Duration{}) running_.push_back(&work);
  plan();
}

void SimGpu::add(SimWork& work, Duration more) {
  settle();
  set_left(work, std::min(kForever, work.left_ + more));
}

void SimGpu::set_awaited(bool awaited) {
  if (awaited == awaited_) return;
  settle();
  awaited_ = awaited;
}

void SimGpu::plan() {
  ++generation_;
  if (running_.empty()) return;
  Duration least = kForever;
  for (const SimWork* work : running_) least = std::min(least, work->left_);
  if (least >= kForever / 2) return;
  time_.after(least * static_cast<std::int64_t>(running_.size()), [this, generation = generation_] {
    if (generation == generation_) finish();
  });
}

// Division may leave each piece of work a few nanoseconds short of its end.
void SimGpu::finish() {
  settle();
  const auto slack = Duration::from_ns(static_cast<std::int64_t>(running_.size()));
  std::vector<SimWork*> done;
  for (SimWork* work : running_) {
    if (work->left_ <= slack) done.push_back(work);
  }
  for (SimWork* work : done) {
    work->executed_ += work->left_;
    work->left_ = Duration{};
    std::erase(running_, work);
  }
  plan();
  for (SimWork* work : done) work->on_done_();
}

}  // namespace nvs::sim
