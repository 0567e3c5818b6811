// SPDX-License-Identifier: Apache-2.0
// What a process has of one GPU's memory: it allocates and frees as planned, asks for what exceeds
// its allowance, and moves chunks out and in as the allowance says. Without a daemon it waits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "message.h"
#include "plan.h"
#include "sim_card.h"
#include "sim_time.h"

namespace nvs::sim {

class SimMemory {
 public:
  struct Owner {
    std::function<bool()> may_move_out;       // its gate is closed and has drained
    std::function<void(Holdings)> tell;       // to the daemon, if there is one
    std::function<void()> on_first_complete;  // what the program allocates first is there
  };

  SimMemory(SimTime& time, SimCard& card, const MemoryPlan& plan, Owner owner)
      : time_(time), card_(card), plan_(plan), owner_(std::move(owner)) {}

  void start();
  void end(Duration lag);
  void allow(std::uint64_t number, std::uint64_t bytes);
  void lose_daemon();
  void freeze() { frozen_ = true; }
  void thaw();
  // Work on another GPU does not let go of it, or does again.
  void set_stays(bool stays);
  // Nothing of it moves any more.
  void lose_context();
  void tell(bool is_short = false);
  // Something about the gate has changed.
  void pump();

  // All of it is there, and none of it is on its way out.
  bool is_complete() const { return away_ == 0 && leaving_ == 0; }
  // It took something without asking, and the daemon may have lowered its allowance meanwhile.
  bool has_grown_lately() const;

 private:
  void change(std::int64_t bytes);
  void free_some(std::uint64_t bytes);
  void allocate();
  void move_out();
  void move_in();
  void retry();
  void later(Instant when, std::function<void()> action);

  SimTime& time_;
  SimCard& card_;
  MemoryPlan plan_;
  Owner owner_;
  std::uint64_t resident_ = 0;
  std::uint64_t away_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t coming_ = 0;  // taken, and on its way
  std::uint64_t number_ = 0;
  std::uint64_t going_by_ = 0;  // while something is under way
  std::optional<std::uint64_t> allowed_;
  std::uint64_t leaving_ = 0;  // of resident_: under way
  bool started_ = false;
  bool frozen_ = false;
  bool faulted_ = false;
  bool retrying_ = false;
  bool stays_ = false;
  std::uint64_t life_ = 0;
  std::optional<Instant> grown_;
};

}  // namespace nvs::sim
