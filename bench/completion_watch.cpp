// SPDX-License-Identifier: Apache-2.0
#include "bench/completion_watch.h"

#include <utility>

namespace nvs::bench {

CompletionWatch::CompletionWatch(const Gpu& gpu, std::size_t depth, std::function<bool()> ended)
    : ended_(std::move(ended)), room_(static_cast<std::ptrdiff_t>(depth)) {
  for (std::size_t i = depth; i > 0; --i) events_.emplace_back(gpu);
  thread_ = std::async(std::launch::async, [this] { watch(); });
}

CompletionWatch::~CompletionWatch() {
  enough_ = true;
  recorded_.release();
  if (thread_.valid()) thread_.wait();
}

bool CompletionWatch::wait_for_room() {
  if (!enough_) room_.acquire();
  return !enough_;
}

void CompletionWatch::record(CUstream stream) {
  events_[recorded_count_++ % events_.size()].record(stream);
  recorded_.release();
}

void CompletionWatch::finish() {
  enough_ = true;
  recorded_.release();
  thread_.get();
}

void CompletionWatch::watch() {
  // Whoever waits for room must not wait for a thread that is gone.
  struct Leave {
    CompletionWatch& self;
    ~Leave() {
      self.enough_ = true;
      self.room_.release();
    }
  } leave{*this};
  for (std::size_t i = 0;; ++i) {
    recorded_.acquire();
    if (enough_) return;
    events_[i % events_.size()].synchronize();
    if (!ended_()) return;
    room_.release();
  }
}

}  // namespace nvs::bench
