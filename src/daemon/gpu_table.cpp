// SPDX-License-Identifier: Apache-2.0
#include "daemon/gpu_table.h"

#include <utility>

#include "daemon/limits.h"

namespace nvs::daemon {

std::optional<core::GpuId> GpuTable::add(Gpu gpu, const core::GpuPolicy& policy) {
  if (is_full() || find(gpu.uuid_bytes)) return std::nullopt;
  entries_.push_back({std::move(gpu), policy});
  return static_cast<core::GpuId>(entries_.size() - 1);
}

std::optional<core::GpuId> GpuTable::find(const UuidBytes& uuid) const {
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    if (entries_[index].gpu.uuid_bytes == uuid) return static_cast<core::GpuId>(index);
  }
  return std::nullopt;
}

bool GpuTable::is_full() const { return entries_.size() == kGpusMax; }

Gpu unknown_gpu(const UuidBytes& uuid) {
  Gpu gpu;
  gpu.uuid = uuid_text("GPU", uuid);
  gpu.uuid_bytes = uuid;
  gpu.name = "unknown";
  return gpu;
}

}  // namespace nvs::daemon
