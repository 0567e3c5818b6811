// SPDX-License-Identifier: Apache-2.0
#include "daemon/memory_watch.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "base/result.h"
#include "daemon/limits.h"
#include "os/process.h"
#include "os/wake_event.h"

namespace nvs::daemon {
namespace {

using Watched = std::pair<UuidBytes, nvmlDevice_t>;

std::atomic<bool> is_thread_left = false;

void remark(std::string& remarks, const std::string& line) {
  if (!remarks.empty()) remarks += '\n';
  remarks += line;
}

MemoryWatch::Reading read_gpu(const Nvml& nvml, const Watched& watched) {
  const auto& [gpu, device] = watched;
  MemoryWatch::Reading reading{.gpu = gpu, .free_bytes = nvml.free_bytes(device)};
  if (!reading.free_bytes) return reading;
  const NvmlResult<double> busy = nvml.busy_part(device);
  NvmlResult<std::vector<ProcessMemory>> processes = nvml.compute_processes(device);
  if (busy) reading.busy_part = *busy;
  if (processes) reading.processes = std::move(*processes);
  return reading;
}

std::chrono::nanoseconds chrono_of(Duration duration) {
  return std::chrono::nanoseconds(duration.ns());
}

}  // namespace

// What the thread works with. It lives as long as the thread does, and NVML is closed after both.
struct MemoryWatch::Shared {
  Shared(Nvml nvml_, std::vector<Watched> gpus_, Duration every_, os::WakeEvent event_)
      : nvml(std::move(nvml_)), gpus(std::move(gpus_)), every(every_), event(std::move(event_)) {}

  void run();
  void read_all(std::unique_lock<std::mutex>& lock);

  const Nvml nvml;
  const std::vector<Watched> gpus;
  const Duration every;
  os::WakeEvent event;
  std::mutex mutex;  // of all below
  std::condition_variable changed;
  std::vector<Reading> readings;
  std::optional<UuidBytes> asked;
  bool is_stopping = false;
  bool has_ended = false;
};

void MemoryWatch::Shared::run() {
  ::pthread_setname_np(::pthread_self(), "gpu-memory");
  // The loop's thread is more urgent than others, and those that it starts are so too.
  [[maybe_unused]] const Result<void> ordinary = os::set_niceness(0);
  std::unique_lock lock(mutex);
  while (!is_stopping) {
    read_all(lock);
    changed.wait_for(lock, chrono_of(every), [this] { return is_stopping; });
  }
  has_ended = true;
  changed.notify_all();
}

// What nobody has taken by now is of an earlier moment, and of no use any more.
void MemoryWatch::Shared::read_all(std::unique_lock<std::mutex>& lock) {
  std::vector<Reading> fresh;
  for (const Watched& watched : gpus) {
    if (is_stopping) return;
    asked = watched.first;
    lock.unlock();
    fresh.push_back(read_gpu(nvml, watched));
    lock.lock();
  }
  asked.reset();
  readings = std::move(fresh);
  event.set();
}

MemoryWatch::MemoryWatch(std::shared_ptr<Shared> shared, std::thread thread)
    : shared_(std::move(shared)), thread_(std::move(thread)) {}

std::unique_ptr<MemoryWatch> MemoryWatch::start(const std::vector<Gpu>& gpus, Duration every,
                                                std::string& remarks) {
  NvmlResult<Nvml> nvml = Nvml::open(nvml_path());
  Result<os::WakeEvent> event = os::WakeEvent::create();
  if (!nvml || !event) return nullptr;
  std::vector<Watched> watched;
  for (const Gpu& gpu : gpus) {
    if (gpu.memory_bytes == 0) continue;
    const NvmlResult<nvmlDevice_t> device = nvml->gpu_of(gpu.uuid);
    if (device) {
      watched.emplace_back(gpu.uuid_bytes, *device);
    } else {
      remark(remarks, gpu.uuid + ": who else uses its memory is not known: " + device.error());
    }
  }
  if (watched.empty()) return nullptr;
  auto shared =
      std::make_shared<Shared>(std::move(*nvml), std::move(watched), every, std::move(*event));
  try {
    std::thread thread([shared] { shared->run(); });
    return std::unique_ptr<MemoryWatch>(new MemoryWatch(std::move(shared), std::move(thread)));
  } catch (const std::system_error& error) {
    remark(remarks, std::string("the use of memory is not watched: ") + error.what());
    return nullptr;
  }
}

MemoryWatch::~MemoryWatch() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_stopping = true;
  shared_->changed.notify_all();
  const bool has_ended = shared_->changed.wait_for(lock, chrono_of(kMemoryWatchEnd),
                                                   [this] { return shared_->has_ended; });
  lock.unlock();
  if (has_ended) {
    thread_.join();
  } else {
    is_thread_left = true;
    thread_.detach();
  }
}

int MemoryWatch::fd() const { return shared_->event.fd(); }

std::vector<MemoryWatch::Reading> MemoryWatch::take() {
  const std::lock_guard lock(shared_->mutex);
  shared_->event.clear();
  return std::exchange(shared_->readings, {});
}

std::vector<UuidBytes> MemoryWatch::watched() const {
  std::vector<UuidBytes> uuids;
  for (const auto& [gpu, device] : shared_->gpus) uuids.push_back(gpu);
  return uuids;
}

std::optional<UuidBytes> MemoryWatch::asked() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->asked;
}

bool MemoryWatch::has_left_thread() { return is_thread_left; }

}  // namespace nvs::daemon
