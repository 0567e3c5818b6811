// SPDX-License-Identifier: Apache-2.0
// Notes when work ends, in a thread of its own: whoever submits may stand at a closed gate for
// seconds, and would note only then what ended before.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <semaphore>
#include <vector>

#include "bench/gpu.h"

namespace nvs::bench {

class CompletionWatch {
 public:
  // `ended` is called once for each event recorded, in order; false: that is enough.
  CompletionWatch(const Gpu& gpu, std::size_t depth, std::function<bool()> ended);
  ~CompletionWatch();
  CompletionWatch(const CompletionWatch&) = delete;
  CompletionWatch& operator=(const CompletionWatch&) = delete;

  // Waits until at most depth - 1 recorded events have not ended. False: that was enough.
  bool wait_for_room();
  // Behind what was just submitted.
  void record(CUstream stream);
  // After the last one. Throws what went wrong in the thread.
  void finish();

 private:
  void watch();

  std::vector<Event> events_;
  std::function<bool()> ended_;
  std::size_t recorded_count_ = 0;
  std::counting_semaphore<> recorded_{0};
  std::counting_semaphore<> room_;
  std::atomic<bool> enough_ = false;
  std::future<void> thread_;
};

}  // namespace nvs::bench
