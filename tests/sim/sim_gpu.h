// SPDX-License-Identifier: Apache-2.0
// A GPU that executes queued work in simulated time: alone at full rate, and several processes'
// work at equal parts of it, as the driver slices. It also keeps the truth about how busy it was.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/instant.h"
#include "sim_time.h"

namespace nvs::sim {

// Longer than any run: work that does not end by itself.
inline constexpr Duration kForever = Duration::from_s(100'000'000);

// What one process has on one GPU.
class SimWork {
 public:
  explicit SimWork(std::function<void()> on_done) : on_done_(std::move(on_done)) {}
  Duration left() const { return left_; }
  Duration executed() const { return executed_; }

 private:
  friend class SimGpu;
  std::function<void()> on_done_;
  Duration left_;
  Duration executed_;
};

class SimGpu {
 public:
  explicit SimGpu(SimTime& time) : time_(time) {}

  // Brings `left` and `executed` up to now.
  void settle();
  void set_left(SimWork& work, Duration left);
  void add(SimWork& work, Duration more);
  std::size_t running() const { return running_.size(); }

  // Whether somebody waits for this GPU.
  void set_awaited(bool awaited);
  Duration busy() const { return busy_; }
  Duration idle_while_awaited() const { return idle_while_awaited_; }

 private:
  void plan();
  void finish();

  SimTime& time_;
  std::vector<SimWork*> running_;
  Instant settled_;
  bool awaited_ = false;
  std::uint64_t generation_ = 0;
  Duration busy_;
  Duration idle_while_awaited_;
};

}  // namespace nvs::sim
