// SPDX-License-Identifier: Apache-2.0
// A thread that does one thing again and again, and sooner when asked. What it does may take long:
// nobody waits for it but the end of the program.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/instant.h"

namespace nvs::plugin {

class Periodic {
 public:
  Periodic(Duration period, std::function<void()> job)
      : period_(period.ns()), job_(std::move(job)), thread_([this] { run(); }) {}
  ~Periodic() {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      is_ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

  // Once more as soon as it is free.
  void hurry() {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      is_due_ = true;
    }
    wake_.notify_one();
  }

 private:
  void run() {
    std::unique_lock<std::mutex> guard(lock_);
    while (!is_ending_) {
      is_due_ = false;
      guard.unlock();
      job_();
      guard.lock();
      wake_.wait_for(guard, period_, [this] { return is_ending_ || is_due_; });
    }
  }

  std::chrono::nanoseconds period_;
  std::function<void()> job_;
  std::mutex lock_;  // of the two below
  bool is_ending_ = false;
  bool is_due_ = false;
  std::condition_variable wake_;
  std::thread thread_;  // the last, because it uses the others
};

}  // namespace nvs::plugin
