// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/work/memset_op.h"

#include <algorithm>
#include <cstring>

#include "cuda_sim/work/extent.h"

namespace nvs::sim {

std::uint64_t memset_extent(const MemsetWork& work) {
  const std::uint64_t row = work.width * work.element_size;
  if (work.height == 0 || row == 0) return 0;
  return sum(product(work.height - 1, work.pitch), row);
}

std::uint64_t MemsetOp::extent() const { return memset_extent(work_); }

bool MemsetOp::resolve() {
  auto view = driver_.space.view(work_.dst, extent(), gpu_, Access::read_write);
  if (!view) return false;
  view_ = std::move(*view);
  stall_ = use_managed(driver_, gpu_, work_.dst, extent(), Access::read_write);
  return true;
}

void MemsetOp::perform(std::uint64_t, std::uint64_t) {
  for (std::uint64_t row = 0; row < work_.height; ++row) {
    std::uint64_t phase = 0;  // within the value: a run may begin inside one
    view_.for_each(row * work_.pitch, row_bytes(), [&](std::byte* host, std::uint64_t bytes) {
      if (work_.element_size == 1) {
        std::memset(host, static_cast<int>(work_.value), bytes);
        return;
      }
      for (std::uint64_t i = 0; i < bytes; ++i, ++phase) {
        host[i] = static_cast<std::byte>(work_.value >> (8 * (phase % work_.element_size)));
      }
    });
  }
}

Nanos MemsetOp::duration() const {
  const Machine& machine = *driver_.machine;
  const double bytes =
      static_cast<double>(row_bytes() * work_.height) * static_cast<double>(machine.scale());
  return machine.dilate(
      std::max(bytes / machine.model().kernel_bytes_per_ns, machine.model().kernel_floor_ns));
}

}  // namespace nvs::sim
