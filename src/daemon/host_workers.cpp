// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_workers.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "daemon/limits.h"
#include "os/process.h"
#include "os/shared_mapping.h"

namespace nvs::daemon {

HostWorkers::HostWorkers(os::WakeEvent event, os::MemfdHugePages pages)
    : event_(std::move(event)), pages_(pages) {}

Result<std::unique_ptr<HostWorkers>> HostWorkers::create(unsigned threads,
                                                         os::MemfdHugePages pages) {
  os::WakeEvent event = NVS_TRY(os::WakeEvent::create());
  std::unique_ptr<HostWorkers> workers(new HostWorkers(std::move(event), pages));
  NVS_TRY(workers->start(threads));
  return workers;
}

Result<void> HostWorkers::start(unsigned threads) {
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error& error) {
    // Those that there are can do it all.
    if (threads_.empty()) {
      return tl::unexpected(Error::from_errno(error.code().value(), "start a thread"));
    }
  }
  return {};
}

HostWorkers::~HostWorkers() {
  {
    const Lock lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HostWorkers::touch(SegmentId segment, int memfd, std::uint64_t bytes) {
  submit({segment, Work::touch, memfd, UniqueFd{}, bytes});
}

void HostWorkers::free(SegmentId segment, UniqueFd memfd, std::uint64_t bytes) {
  const int number = memfd.get();
  submit({segment, Work::free, number, std::move(memfd), bytes});
}

void HostWorkers::submit(Task task) {
  {
    const Lock lock(mutex_);
    tasks_.push_back(std::make_shared<Task>(std::move(task)));
  }
  wake_.notify_all();
}

void HostWorkers::run() {
  ::pthread_setname_np(::pthread_self(), "host-memory");
  // The loop's thread is more urgent than others, and those that it starts are so too.
  [[maybe_unused]] const Result<void> ordinary = os::set_niceness(0);
  Lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return is_stopping_ || !tasks_.empty(); });
    if (is_stopping_) return;
    work_on(std::shared_ptr<Task>(tasks_.front()), lock);
  }
}

// One piece of it. The thread that ends the last piece ends the task.
void HostWorkers::work_on(const std::shared_ptr<Task>& task, Lock& lock) {
  const std::uint64_t offset = task->begun;
  const std::uint64_t bytes = std::min(task->bytes - offset, kHostPieceBytes);
  task->begun += bytes;
  if (task->begun == task->bytes) tasks_.pop_front();
  const bool is_lost = task->error != 0;
  lock.unlock();
  const int error = is_lost ? 0 : do_piece(*task, offset, bytes);
  lock.lock();
  if (task->error == 0) task->error = error;
  task->ended += bytes;
  if (task->ended < task->bytes) return;
  lock.unlock();
  // Closing the last descriptor of memory that a client has filled again takes time too.
  task->owned.reset();
  lock.lock();
  post(*task);
}

int HostWorkers::do_piece(const Task& task, std::uint64_t offset, std::uint64_t bytes) const {
  if (task.work == Work::free) {
    const Result<void> freed = os::discard(task.memfd, offset, bytes);
    return freed ? 0 : freed.error().sys;
  }
  const auto mapping = os::SharedMapping::create(task.memfd, offset, bytes);
  if (!mapping) return mapping.error().sys;
  if (pages_.on_advice) mapping->advise_huge_pages();
  const Result<void> touched = mapping->touch();
  return touched ? 0 : touched.error().sys;
}

void HostWorkers::post(const Task& task) {
  done_.push_back({task.segment, task.work, task.error});
  event_.set();
}

std::vector<HostWorkers::Done> HostWorkers::take_done() {
  const Lock lock(mutex_);
  event_.clear();
  return std::exchange(done_, {});
}

}  // namespace nvs::daemon
