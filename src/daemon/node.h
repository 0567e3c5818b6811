// SPDX-License-Identifier: Apache-2.0
// The node as the daemon knows it: the core with its books of who is connected and which GPUs there
// are, the trace of what it decided, and what an administrator has set. It does no input or output
// but for the file of settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/instant.h"
#include "core/scheduler.h"
#include "daemon/client_table.h"
#include "daemon/gpu_table.h"
#include "daemon/host_view.h"
#include "daemon/memory_books.h"
#include "daemon/memory_trace.h"
#include "daemon/options.h"
#include "daemon/state_file.h"
#include "daemon/status.h"
#include "daemon/trace.h"

namespace nvs::daemon {

using Effects = std::vector<core::Effect>;

class Node {
 public:
  // `host`: the memory that there is for what is moved out of GPUs.
  Node(const Options& options, SavedState saved, Instant start, const HostView& host = {});

  // Effects are appended.
  void step(Instant now, const core::Event& event, Effects& effects);
  std::optional<Instant> next_deadline() const { return core_.next_deadline(); }

  enum class Origin : std::uint8_t { found, learnt };
  // Nothing if there is no room for it or it is there already; said in the log.
  std::optional<core::GpuId> add_gpu(Instant now, Gpu gpu, Origin origin, Effects& effects);

  // The tenant of a new client, who is its first one if it has no others. `first` describes it,
  // `wish` is what it asks for: an administrator's word counts more.
  Tenant& join(Instant now, core::ClientId client, pid_t pid, Tenant first, core::Priority wish,
               Effects& effects);
  void leave(Instant now, core::ClientId client, Effects& effects);

  void set_policy(Instant now, core::GpuId gpu, core::GpuPolicy policy, Effects& effects);
  void set_priority(Instant now, core::TenantId tenant, core::Priority priority, Effects& effects);
  void set_weight(Instant now, core::TenantId tenant, std::uint32_t weight, Effects& effects);
  void set_paused(Instant now, core::TenantId tenant, bool paused, Effects& effects);

  // How much of the GPU's memory is free, by NVML.
  void measure(Instant now, core::GpuId gpu, std::uint64_t free_bytes, Effects& effects);

  // Told by a client that an earlier daemon has served.
  void bill_earlier(Instant now, core::TenantId tenant, core::GpuId gpu, std::uint64_t used_ns);

  std::string status(Instant now, HostView host) const;
  std::string trace(Instant now, Duration last) const;

  GpuTable& gpus() { return gpus_; }
  ClientTable& clients() { return clients_; }
  MemoryBooks& memory() { return memory_; }

 private:
  core::GpuPolicy initial_policy(const Gpu& gpu) const;
  NodeLabels labels(Instant now) const;
  void save();

  Options options_;
  SavedState saved_;
  Instant start_;
  core::Scheduler core_;
  Trace trace_;
  MemoryTrace memory_trace_;
  GpuTable gpus_;
  ClientTable clients_;
  MemoryBooks memory_;
};

}  // namespace nvs::daemon
