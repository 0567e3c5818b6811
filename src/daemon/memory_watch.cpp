// SPDX-License-Identifier: Apache-2.0
#include "daemon/memory_watch.h"

#include <chrono>
#include <optional>
#include <system_error>

#include <pthread.h>
#include <unistd.h>

#include "os/process.h"

namespace nvs::daemon {
namespace {

void remark(std::string& remarks, const std::string& line) {
  if (!remarks.empty()) remarks += '\n';
  remarks += line;
}

}  // namespace

MemoryWatch::MemoryWatch(Nvml nvml, std::vector<Watched> gpus, Duration every, os::WakeEvent event)
    : nvml_(std::move(nvml)), gpus_(std::move(gpus)), every_(every), event_(std::move(event)) {}

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
  std::unique_ptr<MemoryWatch> watch(
      new MemoryWatch(std::move(*nvml), std::move(watched), every, std::move(*event)));
  try {
    watch->thread_ = std::thread([raw = watch.get()] { raw->run(); });
  } catch (const std::system_error& error) {
    remark(remarks, std::string("the use of memory is not watched: ") + error.what());
    return nullptr;
  }
  return watch;
}

MemoryWatch::~MemoryWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MemoryWatch::run() {
  ::pthread_setname_np(::pthread_self(), "gpu-memory");
  // The loop's thread is more urgent than others, and those that it starts are so too.
  [[maybe_unused]] const Result<void> ordinary = os::set_niceness(0);
  const auto every = std::chrono::nanoseconds(every_.ns());
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    lock.unlock();
    std::vector<Reading> readings = read();
    lock.lock();
    post(std::move(readings));
    wake_.wait_for(lock, every, [this] { return is_stopping_; });
  }
}

std::vector<MemoryWatch::Reading> MemoryWatch::read() const {
  std::vector<Reading> readings;
  for (const auto& [gpu, device] : gpus_) {
    const NvmlResult<std::uint64_t> free_bytes = nvml_.free_bytes(device);
    const NvmlResult<double> busy = nvml_.busy_part(device);
    NvmlResult<std::vector<ProcessMemory>> processes = nvml_.compute_processes(device);
    if (!free_bytes) continue;
    Reading& reading = readings.emplace_back(Reading{gpu, *free_bytes, {}, {}});
    if (busy) reading.busy_part = *busy;
    if (processes) reading.processes = std::move(*processes);
  }
  return readings;
}

// What nobody has taken by now is of an earlier moment, and of no use any more.
void MemoryWatch::post(std::vector<Reading> readings) {
  readings_ = std::move(readings);
  event_.set();
}

std::vector<MemoryWatch::Reading> MemoryWatch::take() {
  const std::lock_guard lock(mutex_);
  event_.clear();
  return std::exchange(readings_, {});
}

}  // namespace nvs::daemon
