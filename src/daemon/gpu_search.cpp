// SPDX-License-Identifier: Apache-2.0
#include "daemon/gpu_search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include <pthread.h>

#include "base/result.h"
#include "daemon/limits.h"
#include "os/process.h"
#include "os/wake_event.h"

namespace nvs::daemon {
namespace {

std::atomic<bool> is_searcher_left = false;

// No GPUs at all is what a driver says that is still being loaded.
std::optional<GpuSearch::Found> search_once() {
  GpuSearch::Found found;
  auto gpus = find_gpus(found.remarks);
  if (!gpus || gpus->empty()) return std::nullopt;
  found.gpus = std::move(*gpus);
  found.watch = MemoryWatch::start(found.gpus, kMemoryPoll, found.remarks);
  return found;
}

}  // namespace

struct GpuSearch::Shared {
  Shared(Duration first, Duration longest_, os::WakeEvent event_)
      : pause(first), longest(longest_), event(std::move(event_)) {}

  void run();

  Duration pause;
  const Duration longest;
  os::WakeEvent event;
  std::mutex mutex;  // of all below
  std::condition_variable changed;
  std::optional<Found> found;
  bool is_stopping = false;
  bool has_ended = false;
};

void GpuSearch::Shared::run() {
  ::pthread_setname_np(::pthread_self(), "gpu-search");
  // As of all threads but the loop's.
  [[maybe_unused]] const Result<void> ordinary = os::set_niceness(0);
  std::unique_lock lock(mutex);
  while (!is_stopping && !found) {
    changed.wait_for(lock, std::chrono::nanoseconds(pause.ns()), [this] { return is_stopping; });
    if (is_stopping) break;
    pause = std::min(pause * 2, longest);
    lock.unlock();
    auto seen = search_once();
    lock.lock();
    found = std::move(seen);
  }
  has_ended = true;
  changed.notify_all();
  if (found) event.set();
}

GpuSearch::GpuSearch(std::shared_ptr<Shared> shared, std::thread thread)
    : shared_(std::move(shared)), thread_(std::move(thread)) {}

std::unique_ptr<GpuSearch> GpuSearch::start(Duration first, Duration longest) {
  Result<os::WakeEvent> event = os::WakeEvent::create();
  if (!event) return nullptr;
  auto shared = std::make_shared<Shared>(first, longest, std::move(*event));
  try {
    std::thread thread([shared] { shared->run(); });
    return std::unique_ptr<GpuSearch>(new GpuSearch(std::move(shared), std::move(thread)));
  } catch (const std::system_error&) {
    return nullptr;
  }
}

GpuSearch::~GpuSearch() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_stopping = true;
  shared_->changed.notify_all();
  const bool has_ended = shared_->changed.wait_for(
      lock, std::chrono::nanoseconds(kMemoryWatchEnd.ns()), [this] { return shared_->has_ended; });
  lock.unlock();
  if (has_ended) {
    thread_.join();
  } else {
    is_searcher_left = true;
    thread_.detach();
  }
}

int GpuSearch::fd() const { return shared_->event.fd(); }

std::optional<GpuSearch::Found> GpuSearch::take() {
  const std::lock_guard lock(shared_->mutex);
  shared_->event.clear();
  return std::exchange(shared_->found, std::nullopt);
}

bool GpuSearch::has_left_thread() { return is_searcher_left; }

}  // namespace nvs::daemon
