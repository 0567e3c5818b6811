// SPDX-License-Identifier: Apache-2.0
// A client's gate on a GPU, as far as the core can know it: what it was told, and what it answered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/instant.h"
#include "core/allowances.h"
#include "core/ids.h"
#include "core/policy.h"

namespace nvs::core {

struct Seat;

enum class GateState : std::uint8_t {
  closed,
  open,
  closing,  // told to close; the GPU waits for the answer
  loose,    // refused to drain: open beside the others until it is asked again
  late,     // told to close, alive, but nobody waits for the answer any more
  silent,   // told to close and not heard of since; nobody waits for it
};

// A client's memory on a GPU, in bytes: as it last told, and what it was told about it.
struct GateMemory {
  bool told = false;
  std::uint64_t resident = 0;
  std::uint64_t away = 0;
  std::uint64_t fixed = 0;
  std::uint64_t asked = 0;
  Allowances allowances;
  bool shared = false;      // as it was last told
  bool stuck = false;       // it had to move something, and nothing moved for a while
  Instant moved;            // when something did, or when it was told to
  bool is_faulted = false;  // it cannot run or move anything any more
  bool stays = false;       // nothing of it can leave until it says otherwise
  bool reached = false;     // work on the client's other GPUs may use it
  bool is_short = false;    // it said since then that the driver has nothing for it
  // That was so for a while: until then it gets no more than it has, and others come first.
  std::optional<Instant> starves_until;

  // What it has on the GPU, or may have brought there by now. One that does not answer is taken by
  // its last word: others do not wait for what it might yet take. One that starves is told to go by
  // less first.
  std::uint64_t committed() const {
    return stuck ? resident : std::max(resident, allowances.most());
  }
  // From now on it has the time that a move takes.
  void begin_to_move(Instant now) {
    moved = now;
    is_short = false;
  }
  // All that it told of is there, and nothing that it was told since makes it move some of it out.
  // One that was lowered may have taken more by then and be about to move that; it sends the window
  // back, so that those who have what they need do not wait for each answer.
  bool is_complete() const { return away == 0 && allowances.least() >= resident; }
  std::uint64_t base() const { return resident + away; }
  std::uint64_t need() const { return resident + away + asked; }
};

struct Gate {
  ClientId client{};
  Seat* seat = nullptr;
  GateState state = GateState::closed;
  bool wants = false;      // threads stand at it
  bool idle = false;       // open, without work
  bool refused = false;    // refused to drain, and has not drained since
  bool stalled = false;    // its drain gets nowhere
  bool let_in = false;     // closed, and somebody was let in; what came of it is not known yet
  Instant let_in_at;       // when somebody last was
  GrantId grant{};         // of its latest opening
  Instant told;            // when it was told to close
  bool next_told = false;  // those who come next know when that will be
  Instant heard;           // when it last said something after that
  Duration retry = kRefusalRetry;
  std::optional<Instant> timer;  // as it stands in Deadlines
  GateMemory memory;
};

}  // namespace nvs::core
