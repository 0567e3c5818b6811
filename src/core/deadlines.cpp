// SPDX-License-Identifier: Apache-2.0
#include "core/deadlines.h"

namespace nvs::core {

void Deadlines::move(std::optional<Instant>& slot, std::optional<Instant> to, Deadline deadline) {
  if (slot == to) return;
  if (slot) {
    deadline.at = *slot;
    ordered_.erase(deadline);
  }
  if (to) {
    deadline.at = *to;
    ordered_.insert(deadline);
  }
  slot = to;
}

void Deadlines::move(std::optional<Instant>& slot, std::optional<Instant> to, GpuId gpu) {
  move(slot, to, Deadline{{}, Deadline::Of::gpu, gpu, {}});
}

void Deadlines::move(std::optional<Instant>& slot, std::optional<Instant> to, GpuId gpu,
                     ClientId client) {
  move(slot, to, Deadline{{}, Deadline::Of::gate, gpu, client});
}

std::optional<Instant> Deadlines::next() const {
  if (ordered_.empty()) return std::nullopt;
  return ordered_.begin()->at;
}

std::optional<Deadline> Deadlines::take_due(Instant now) {
  if (ordered_.empty() || ordered_.begin()->at > now) return std::nullopt;
  const Deadline due = *ordered_.begin();
  ordered_.erase(ordered_.begin());
  return due;
}

}  // namespace nvs::core
