// SPDX-License-Identifier: Apache-2.0
// The state of the whole schedule during a step: what the parts of the core work on together. A
// part that changes something about a GPU touches it, and the step ends by deciding anew for those.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/books.h"
#include "core/deadlines.h"
#include "core/effect.h"
#include "core/gpu.h"
#include "core/ids.h"

namespace nvs::core {

struct Node {
  Books books;
  std::deque<Gpu> gpus;  // by number; they stay where they are when others are added
  Deadlines deadlines;
  Instant now;
  std::uint64_t grants = 0;                // given so far
  std::vector<Effect>* effects = nullptr;  // of the step under way
  std::vector<Gpu*> touched;               // since the step began, in order; some again

  Gpu* gpu(GpuId id) { return index_of(id) < gpus.size() ? &gpus[index_of(id)] : nullptr; }
  GrantId fresh_grant() { return GrantId{++grants}; }
  void emit(Effect effect) { effects->push_back(effect); }
  void touch(Gpu& gpu) {
    if (!std::exchange(gpu.touched, true)) touched.push_back(&gpu);
  }

  // The same for one that is so since a while ago, of what has passed since the last such change:
  // it is billed as if it had been told then. Where others of its tenant had work meanwhile, so it
  // was.
  template <class Change>
  void change_since(Gate& gate, Duration span, Change change_it) {
    Seat& seat = *gate.seat;
    const std::uint32_t busy = seat.busy;
    const Instant least = std::max(seat.busy_changed, seat.held_since);
    change(gate, change_it);
    if (busy + seat.busy != 1) return;
    span = std::clamp(span, Duration{}, now - least);
    seat.correct_bill(busy == 0 ? span : -span, now);
  }

  // Every change to a gate goes through here, so that bills and counts stay right.
  template <class Change>
  void change(Gate& gate, Change change_it) {
    Seat& seat = *gate.seat;
    seat.gpu->account(now);
    seat.accrue(now);
    const std::uint32_t busy = seat.busy;
    seat.uncount(gate);
    change_it(gate);
    seat.recount(gate);
    note_busy(seat, busy);
  }
  // After the counts of a seat have changed; so many of its gates had work before.
  void note_busy(Seat& seat, std::uint32_t before) const {
    if (seat.busy == before) return;
    seat.busy_changed = now;
    if (seat.busy == 0) seat.idle_since = now;
    seat.gpu->note_work(seat);
  }
};

}  // namespace nvs::core
