// SPDX-License-Identifier: Apache-2.0
// A GPU's memory and the bus to it: bytes that are taken, and two directions in which chunks move
// one after the other, whoever moves them.
#pragma once

#include <cstdint>

#include "base/instant.h"
#include "sim_time.h"

namespace nvs::sim {

class SimCard {
 public:
  SimCard(SimTime& time, std::uint64_t capacity, std::uint64_t rate)
      : time_(time), capacity_(capacity), rate_(rate) {}

  // As the driver does: false if there is not that much.
  bool take(std::uint64_t bytes);
  // What cannot be refused: a context.
  void force(std::uint64_t bytes) { used_ += bytes; }
  void give(std::uint64_t bytes) { used_ -= bytes; }
  // Of a process that has died: the driver needs a while.
  void give_late(std::uint64_t bytes, Duration lag);
  // Somebody who is no client takes so much, or nothing any more.
  void set_foreign(std::uint64_t bytes) { foreign_ = bytes; }
  // When a chunk that is begun now has arrived.
  Instant move(std::uint64_t bytes, bool in);

  std::uint64_t used() const { return used_; }
  std::uint64_t moved() const { return moved_; }
  // Memory was refused although all clients together were within the capacity.
  bool broke_promise() const { return broken_; }

 private:
  SimTime& time_;
  std::uint64_t capacity_;
  std::uint64_t rate_;  // bytes a second
  std::uint64_t used_ = 0;
  std::uint64_t foreign_ = 0;
  std::uint64_t dying_ = 0;
  std::uint64_t moved_ = 0;
  bool broken_ = false;
  Instant free_at_[2];
};

}  // namespace nvs::sim
