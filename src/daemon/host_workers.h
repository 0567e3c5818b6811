// SPDX-License-Identifier: Apache-2.0
// Threads that make the pages of host memory, and give them back: seconds for some gigabytes, in
// which the daemon's loop must go on. They only do what they are told and post that it is done.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/host_books.h"
#include "os/memfd.h"
#include "os/wake_event.h"

namespace nvs::daemon {

class HostWorkers {
 public:
  enum class Work : std::uint8_t { touch, free };
  struct Done {
    SegmentId segment;
    Work work;
    int error;  // an errno, or 0
  };

  static Result<std::unique_ptr<HostWorkers>> create(unsigned threads, os::MemfdHugePages pages);
  // What is not done by then is dropped.
  ~HostWorkers();
  HostWorkers(const HostWorkers&) = delete;
  HostWorkers& operator=(const HostWorkers&) = delete;

  // The descriptor stays the caller's, who keeps it until it is done.
  void touch(SegmentId segment, int memfd, std::uint64_t bytes);
  // Its pages go even if somebody else has it mapped; then it is closed.
  void free(SegmentId segment, UniqueFd memfd, std::uint64_t bytes);

  // Readable while take_done() has something.
  int fd() const { return event_.fd(); }
  std::vector<Done> take_done();

 private:
  struct Task {
    SegmentId segment;
    Work work;
    int memfd;
    UniqueFd owned;  // what is to be closed at the end
    std::uint64_t bytes;
    std::uint64_t begun = 0;  // up to here threads have taken it
    std::uint64_t ended = 0;  // so much of it is done
    int error = 0;            // the first one
  };
  using Lock = std::unique_lock<std::mutex>;

  HostWorkers(os::WakeEvent event, os::MemfdHugePages pages);
  Result<void> start(unsigned threads);
  void submit(Task task);
  void run();
  void work_on(const std::shared_ptr<Task>& task, Lock& lock);
  int do_piece(const Task& task, std::uint64_t offset, std::uint64_t bytes) const;
  void post(const Task& task);

  os::WakeEvent event_;
  os::MemfdHugePages pages_;
  std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Task>> tasks_;  // of which pieces are left to take
  std::vector<Done> done_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;  // the owner's alone
};

}  // namespace nvs::daemon
