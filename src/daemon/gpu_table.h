// SPDX-License-Identifier: Apache-2.0
// The node's GPUs under the numbers that the core knows them by. They are found when the daemon
// starts, or learnt from the first client that names one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "core/ids.h"
#include "core/policy.h"
#include "nvml/gpus.h"

namespace nvs::daemon {

struct GpuEntry {
  Gpu gpu;
  core::GpuPolicy policy;  // as it is in force
  // Why NVML says nothing about it any more, and since when; nothing: it does, or never did.
  std::optional<std::string> nvml_error = {};
  Instant silent_since = {};
};

class GpuTable {
 public:
  // Nothing if kGpusMax are there already, or one with its UUID.
  std::optional<core::GpuId> add(Gpu gpu, const core::GpuPolicy& policy);

  std::optional<core::GpuId> find(const UuidBytes& uuid) const;
  bool is_full() const;
  GpuEntry& at(core::GpuId gpu) { return entries_[core::index_of(gpu)]; }
  const GpuEntry& at(core::GpuId gpu) const { return entries_[core::index_of(gpu)]; }
  const std::vector<GpuEntry>& entries() const { return entries_; }

 private:
  std::vector<GpuEntry> entries_;  // by GpuId
};

// A GPU of which a client told the UUID and nobody tells more.
Gpu unknown_gpu(const UuidBytes& uuid);

}  // namespace nvs::daemon
