// SPDX-License-Identifier: Apache-2.0
// All tenants of a run while it goes on, and their GPUs: a block of lines that is redrawn in place
// on a terminal, or a line for each every few seconds where output goes to a file.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "workloads/progress.h"
#include "workloads/runner.h"

namespace nvs::workloads {

class LiveView {
 public:
  explicit LiveView(ProgressMode mode);

  // `gpus` are whole lines, and may become more.
  void update(std::span<const Tenant> tenants, std::span<const std::string> gpus);
  // Removes the block, so that the table can stand in its place.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void draw_block(std::span<const Tenant> tenants, std::span<const std::string> gpus);
  void print_lines(std::span<const Tenant> tenants, std::span<const std::string> gpus);

  ProgressMode mode_;
  std::size_t lines_drawn_ = 0;
  // When each tenant's next plain line is due; the far future once its last one is out.
  std::vector<Clock::time_point> due_;
  Clock::time_point gpus_due_{};
};

}  // namespace nvs::workloads
