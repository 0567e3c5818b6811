// SPDX-License-Identifier: Apache-2.0
// All tenants of a run while it goes on: a block of lines that is redrawn in place on a terminal,
// or a line a tenant every few seconds where output goes to a file.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "workloads/progress.h"
#include "workloads/runner.h"

namespace nvs::workloads {

class LiveView {
 public:
  explicit LiveView(ProgressMode mode);

  void update(std::span<const Tenant> tenants);
  // Removes the block, so that the table can stand in its place.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void draw_block(std::span<const Tenant> tenants);
  void print_lines(std::span<const Tenant> tenants);

  ProgressMode mode_;
  std::size_t lines_drawn_ = 0;
  // When each tenant's next plain line is due; the far future once its last one is out.
  std::vector<Clock::time_point> due_;
};

}  // namespace nvs::workloads
