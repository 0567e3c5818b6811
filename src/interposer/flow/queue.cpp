// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/queue.h"

#include <algorithm>

namespace nvs::interposer::flow {
namespace {

// Sleeping for less is not worth a system call; for more, a late wake-up costs too much.
constexpr std::int64_t kShortestWait_ns = 10'000;
constexpr std::int64_t kLongestWait_ns = 1'000'000;
constexpr std::int64_t kOverdue_ns = 1'000'000;

}  // namespace

void Queue::submit(std::int64_t now_ns, std::uint64_t key) {
  if (behind_.kinds == 0) behind_since_ns_ = now_ns;
  behind_.add(kinds_.find(key));
  last_submission_ns_ = now_ns;
}

bool Queue::needs_mark(std::int64_t now_ns, std::int64_t bound_ns) const {
  if (behind_.kinds == 0 || is_full()) return false;
  if (marks_ == 0) return true;
  const std::int64_t queued_ns = kinds_.guess_ns(behind_);
  if (queued_ns >= std::max<std::int64_t>(kMarkEvery_ns, bound_ns / kMarksInBound)) return true;
  // Of those that come one by one, all are marked, unless there are many of them by now.
  return now_ns - last_mark_ns_ >= kMarkEvery_ns && marks_ < kMarksMax - kMarksInBound;
}

void Queue::marked(std::int64_t now_ns) {
  if (behind_.kinds == 0 || is_full()) return;
  if (marks_ == 0) last_look_ns_ = now_ns;
  ring_[(first_ + marks_) % kMarksMax] = {behind_since_ns_, behind_, ++numbered_};
  ++marks_;
  marked_ns_ += kinds_.guess_ns(behind_);
  behind_ = {};
  last_mark_ns_ = now_ns;
}

void Queue::seen_running(std::int64_t now_ns) { last_look_ns_ = now_ns; }

// The GPU took to the oldest mark's work when it was through with what came before.
std::int64_t Queue::started_ns() const {
  const std::int64_t free_ns = std::max<std::int64_t>(last_completion_ns_, ours_from_ns_);
  return std::max<std::int64_t>(oldest().submitted_ns, free_ns);
}

void Queue::completed(std::int64_t now_ns, int count) {
  if (count > marks_) count = marks_;
  if (count == 0) return;
  const std::int64_t started = started_ns();
  Kinds::Span span = {};
  for (int i = 0; i < count; ++i) {
    span.add(oldest().span);
    dropped();
  }
  // It ended between the last look and now: when it should have, if that lies in between.
  const std::int64_t expected_ns = started + kinds_.guess_ns(span);
  const std::int64_t ended_ns =
      std::min<std::int64_t>(std::max<std::int64_t>(expected_ns, last_look_ns_), now_ns);
  const std::int64_t took_ns = ended_ns - started;
  const bool seen =
      now_ns - last_look_ns_ <= std::max<std::int64_t>(took_ns / 8, 2 * kMarkEvery_ns);
  // Else the GPU was with us all the time.
  if (took_ns > 0) {
    kinds_.learn(span, took_ns, seen ? Kinds::Sight::seen : Kinds::Sight::inferred);
  }
  last_completion_ns_ = ended_ns;
  completions_ += static_cast<std::uint32_t>(count);
  last_look_ns_ = now_ns;
  // What is thought of kinds has changed, and so has what is left.
  marked_ns_ = 0;
  for (int i = 0; i < marks_; ++i) {
    marked_ns_ += kinds_.guess_ns(ring_[(first_ + i) % kMarksMax].span);
  }
}

void Queue::dropped() {
  if (marks_ == 0) return;
  marked_ns_ -= kinds_.guess_ns(oldest().span);
  first_ = (first_ + 1) % kMarksMax;
  --marks_;
}

void Queue::drop_at(int index) {
  marked_ns_ -= kinds_.guess_ns(ring_[(first_ + index) % kMarksMax].span);
  for (int i = index; i + 1 < marks_; ++i) {
    ring_[(first_ + i) % kMarksMax] = ring_[(first_ + i + 1) % kMarksMax];
  }
  --marks_;
}

bool Queue::is_late(std::int64_t now_ns) const {
  return marks_ > 0 && now_ns - started_ns() > kinds_.guess_ns(oldest().span) + kOverdue_ns;
}

std::int64_t Queue::remaining_ns(std::int64_t now_ns) const {
  const std::int64_t behind_ns = kinds_.guess_ns(behind_);
  if (marks_ == 0) return behind_ns;
  const std::int64_t first_ns = kinds_.guess_ns(oldest().span);
  const std::int64_t run_ns =
      std::min<std::int64_t>(std::max<std::int64_t>(now_ns - started_ns(), 0), first_ns);
  return std::max<std::int64_t>(marked_ns_ - run_ns, 0) + behind_ns;
}

std::int64_t Queue::behind_oldest_ns() const {
  const std::int64_t behind_ns = kinds_.guess_ns(behind_);
  return marks_ == 0 ? behind_ns : marked_ns_ - kinds_.guess_ns(oldest().span) + behind_ns;
}

std::int64_t Queue::ends_in_ns(std::int64_t now_ns) const {
  if (marks_ != 1 || behind_.kinds != 0 || !kinds_.is_steady(oldest().span)) return 0;
  if (now_ns < started_ns()) return 0;
  return remaining_ns(now_ns);
}

// Kernels longer than the bound follow each other all the same.
std::int64_t Queue::enough_ns(std::int64_t bound_ns, std::uint64_t key) {
  const std::int64_t least_ns = std::max<std::int64_t>(bound_ns / 8, kRunDry_ns);
  return std::max<std::int64_t>(bound_ns - guess_ns(key), least_ns);
}

bool Queue::is_much_longer(std::int64_t now_ns, std::int64_t bound_ns) const {
  return marks_ > 0 && now_ns - started_ns() > kinds_.guess_ns(oldest().span) + bound_ns;
}

std::int64_t Queue::wait_ns(std::int64_t now_ns, std::int64_t bound_ns, std::uint64_t key) {
  if (marks_ == 0) return 0;
  const std::int64_t remaining = remaining_ns(now_ns);
  // Of what may be much longer too, just enough that the GPU is not idle.
  const bool is_unknown = is_much_longer(now_ns, bound_ns);
  const std::int64_t until_room = remaining - (is_unknown ? kRunDry_ns : enough_ns(bound_ns, key));
  if (until_room <= 0) return 0;
  return std::min<std::int64_t>(std::max<std::int64_t>(until_room, kShortestWait_ns),
                                poll_in_ns(now_ns));
}

std::int64_t Queue::poll_in_ns(std::int64_t now_ns) const {
  // A submission is being made; its mark follows in a moment.
  if (marks_ == 0) return is_empty() ? kLongestWait_ns : kMarkEvery_ns;
  const std::int64_t expected_ns = kinds_.guess_ns(oldest().span);
  const std::int64_t run_ns = now_ns - started_ns();
  const std::int64_t left_ns = expected_ns - run_ns;
  if (left_ns > 0) {
    // A little early, to see it end: whoever looks when it expects the end sees what it expects.
    const std::int64_t early_ns = left_ns - std::max<std::int64_t>(expected_ns / 32, kMarkEvery_ns);
    // What is not known may be over soon.
    const std::int64_t wait_ns =
        kinds_.is_sure(oldest().span) ? early_ns : std::min<std::int64_t>(early_ns, run_ns / 4);
    return std::min<std::int64_t>(std::max<std::int64_t>(wait_ns, kShortestWait_ns),
                                  kLongestWait_ns);
  }
  // Overdue: often at first, less often the longer it takes.
  return std::min<std::int64_t>(std::max<std::int64_t>(-left_ns / 8, kShortestWait_ns),
                                kLongestWait_ns);
}

void Queue::emptied(std::int64_t now_ns) {
  // Marks that were complete before the synchronisation were looked at when it began.
  if (marks_ > 0) {
    const std::int64_t took_ns = now_ns - started_ns();
    Kinds::Span span = behind_;
    for (int i = 0; i < marks_; ++i) span.add(ring_[(first_ + i) % kMarksMax].span);
    if (took_ns > 0) kinds_.learn(span, took_ns, Kinds::Sight::seen);
  }
  marks_ = 0;
  marked_ns_ = 0;
  behind_ = {};
  last_completion_ns_ = now_ns;
}

}  // namespace nvs::interposer::flow
