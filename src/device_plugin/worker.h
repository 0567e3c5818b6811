// SPDX-License-Identifier: Apache-2.0
// A thread for what would make the event loop wait: jobs in their order, each to its end. All that
// were given are done before the object goes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace nvs::plugin {

class Worker {
 public:
  Worker() : thread_([this] { run(); }) {}
  ~Worker() {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      is_ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void give(std::function<void()> job) {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
  }

 private:
  void run() {
    std::unique_lock<std::mutex> guard(lock_);
    while (true) {
      wake_.wait(guard, [this] { return is_ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      guard.unlock();
      job();
      job = nullptr;  // what it holds goes here, without the lock
      guard.lock();
    }
  }

  std::mutex lock_;  // of the two below
  std::deque<std::function<void()>> jobs_;
  bool is_ending_ = false;
  std::condition_variable wake_;
  std::thread thread_;  // the last, because it uses the others
};

}  // namespace nvs::plugin
