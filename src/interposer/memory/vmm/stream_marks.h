// SPDX-License-Identifier: Apache-2.0
// How far a stream has got: a few events that were recorded in it one after the other, each with
// the number of what came before it. While all of them wait, the newest is recorded anew and so
// moves on; the others stay, or a stream that always has work would never be seen to pass one.
// Numbers only: the events are the caller's. Not thread-safe: the caller holds a lock, and lets it
// go while it records or looks.
#pragma once

#include <cstdint>

namespace nvs::interposer::vmm {

class StreamMarks {
 public:
  static constexpr int kMarksMax = 4;
  static_assert(kMarksMax > 1, "the oldest must not move on");

  struct Ticket {
    int event = 0;
    std::uint64_t number = 0;
  };
  // An event is about to be recorded. end() must follow, whether or not that succeeds: what was not
  // recorded is a mark that nothing came before.
  Ticket begin() {
    if (count_ < kMarksMax) ++count_;
    const int event = (first_ + count_ - 1) % kMarksMax;
    Mark& mark = marks_[event];
    mark.number = ++numbers_;
    ++mark.recorders;
    ++recorders_;
    return {event, numbers_};
  }
  void end(const Ticket& ticket) {
    --marks_[ticket.event].recorders;
    --recorders_;
  }

  // The event to look at next: until it is complete, none behind it matters. It is never the one
  // that is recorded anew, so what is seen of it holds. False: there is nothing to see.
  bool oldest(int& event) const {
    event = first_;
    return count_ != 0 && marks_[first_].recorders == 0;
  }
  // That one was seen to be complete: everything up to this number is behind the stream.
  std::uint64_t passed() {
    const std::uint64_t number = marks_[first_].number;
    first_ = (first_ + 1) % kMarksMax;
    --count_;
    return number;
  }

  bool is_empty() const { return count_ == 0; }
  bool is_being_recorded() const { return recorders_ != 0; }

 private:
  struct Mark {
    std::uint64_t number = 0;
    int recorders = 0;
  };
  Mark marks_[kMarksMax] = {};
  int first_ = 0;
  int count_ = 0;
  int recorders_ = 0;
  std::uint64_t numbers_ = 0;
};

}  // namespace nvs::interposer::vmm
