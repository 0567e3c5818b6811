// SPDX-License-Identifier: Apache-2.0
// What NVML tells the daemon while it runs, and what it makes of it when NVML tells nothing.
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "daemon/log_lines.h"

namespace nvs::daemon {

Result<void> Daemon::watch_memory() {
  if (!memory_watch_) return {};
  return loop_.add(memory_watch_->fd(), EPOLLIN, [this](std::uint32_t) { on_readings(); });
}

Result<void> Daemon::search_gpus() {
  if (!gpu_search_) return {};
  return loop_.add(gpu_search_->fd(), EPOLLIN, [this](std::uint32_t) { on_found(); });
}

// From here on all is as if NVML had been there at the start. GPUs that clients have named keep
// their numbers.
void Daemon::on_found() {
  auto found = gpu_search_->take();
  if (!found) return;
  loop_.remove(gpu_search_->fd());
  gpu_search_.reset();
  log_lines(Level::warning, "looking for GPUs", found->remarks);
  messages_.set_teachers(Messages::Teachers::administrators);
  const Instant now = loop_.now();
  for (Gpu& gpu : found->gpus) {
    const auto learnt = node_.gpus().find(gpu.uuid_bytes);
    if (learnt) {
      node_.describe_gpu(now, *learnt, std::move(gpu), sessions_.effects());
    } else {
      node_.add_gpu(now, std::move(gpu), Node::Origin::found, sessions_.effects());
    }
  }
  memory_watch_ = std::move(found->watch);
  memory_heard_ = now;
  const Result<void> watched = watch_memory();
  if (!watched) {
    log(Level::error, "the memory of GPUs is not watched", {{"error", watched.error().message()}});
    memory_watch_.reset();
  }
  sessions_.settle();
}

void Daemon::on_readings() {
  memory_heard_ = loop_.now();
  for (const MemoryWatch::Reading& reading : memory_watch_->take()) {
    const auto gpu = node_.gpus().find(reading.gpu);
    if (!gpu) continue;
    const auto& free_bytes = reading.free_bytes;
    node_.note_answer(loop_.now(), *gpu,
                      free_bytes ? std::nullopt : std::optional(free_bytes.error()));
    node_.note_busy(*gpu, reading.busy_part);
    node_.note_processes(*gpu, reading.processes);
    if (free_bytes) node_.measure(loop_.now(), *gpu, *free_bytes, sessions_.effects());
  }
  sessions_.settle();
}

std::optional<Instant> Daemon::silence_deadline() const {
  if (!memory_watch_) return std::nullopt;
  return memory_heard_ + kMemoryPoll + kGpuSilence;
}

// The watch would have told something by now, had it not been kept by a call of NVML. Until that
// returns nobody asks about the other GPUs either.
void Daemon::note_silence(Instant now) {
  memory_heard_ = now;  // not to be looked at in each round
  const std::optional<UuidBytes> asked = memory_watch_->asked();
  const auto kept_by = asked ? node_.gpus().find(*asked) : std::nullopt;
  if (!kept_by) return;
  const std::string& name = node_.gpus().entries()[core::index_of(*kept_by)].gpu.uuid;
  for (const UuidBytes& uuid : memory_watch_->watched()) {
    const auto gpu = node_.gpus().find(uuid);
    if (!gpu) continue;
    node_.note_answer(now, *gpu,
                      "NVML does not return" + (gpu == kept_by ? "" : " when asked about " + name));
    node_.note_busy(*gpu, std::nullopt);
    node_.note_processes(*gpu, std::nullopt);
  }
}

}  // namespace nvs::daemon
