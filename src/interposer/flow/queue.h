// SPDX-License-Identifier: Apache-2.0
// How much GPU time a process has queued on one GPU, guessed from marks: events that are recorded
// behind its submissions and seen to complete. Pure: the clock and the events are the caller's. The
// guess decides when a thread may submit more while other tenants wait, so it must err towards
// submitting: a queue that runs dry wastes the GPU.
#pragma once

#include <cstdint>

#include "interposer/flow/kinds.h"

namespace nvs::interposer::flow {

inline constexpr int kMarksMax = 128;
// Marks that cost nothing on the GPU still cost a call: closer together than this, one serves for
// several submissions.
inline constexpr std::int64_t kMarkEvery_ns = 20'000;
// Nor are there more of them than this in what may be queued.
inline constexpr int kMarksInBound = 100;
static_assert(kMarksInBound < kMarksMax);
// With less than this queued, one more submission may come in whatever its length. A thread that
// sleeps precisely is 15 us late and needs 10 us to submit; whoever else wants the GPU waits for
// what is queued.
inline constexpr std::int64_t kRunDry_ns = 150'000;
// With less than this queued a thread that waits for room stays awake: hosts wake one up a
// millisecond late at times, and the GPU would run dry.
inline constexpr std::int64_t kStayAwake_ns = 1'000'000;
// What the GPU needs to turn from one process to another: 140 to 160 us on an H200.
inline constexpr std::int64_t kTurnToUs_ns = 130'000;

class Queue {
 public:
  // The GPU may have worked for others until now, when it gets work of ours, and turns to us first.
  void turns(std::int64_t now_ns) { ours_from_ns_ = now_ns + kTurnToUs_ns; }
  // A submission is about to be made. It is counted at once, so that threads see each other's. The
  // key tells kinds apart; 0: unknown.
  void submit(std::int64_t now_ns, std::uint64_t key);
  // It was, which may have taken as long as the GPU needed.
  void made(std::int64_t now_ns) { last_submission_ns_ = now_ns; }
  // Should a mark follow the submission that was just made?
  bool needs_mark(std::int64_t now_ns, std::int64_t bound_ns) const;
  // A mark was recorded behind all submissions so far. Marks complete in order, or are taken to.
  void marked(std::int64_t now_ns);
  bool is_full() const { return marks_ == kMarksMax; }

  // The oldest mark was looked at and is not complete yet.
  void seen_running(std::int64_t now_ns);
  // The oldest `count` marks are complete, and the next one is not.
  void completed(std::int64_t now_ns, int count);
  // The oldest mark will never be seen to complete: its context is gone.
  void dropped();
  // So is the index-th of them, before those in front of it.
  void drop_at(int index);
  // The oldest mark should have been complete long ago.
  bool is_late(std::int64_t now_ns) const;
  // It always takes about as long.
  bool is_steady() const { return marks_ > 0 && kinds_.is_steady(oldest().span); }
  // It should have been, and there are others behind it.
  bool is_overdue(std::int64_t now_ns) const { return marks_ > 1 && is_late(now_ns); }
  int marks() const { return marks_; }
  int unmarked() const { return behind_.submissions(); }

  std::int64_t remaining_ns(std::int64_t now_ns) const;
  // Without what the oldest mark is for.
  std::int64_t behind_oldest_ns() const;
  // The last of all runs, and should end in so long; 0: not so, or when it ends is not known well.
  std::int64_t ends_in_ns(std::int64_t now_ns) const;
  // One more of that kind may be submitted if no more than this is queued.
  std::int64_t enough_ns(std::int64_t bound_ns, std::uint64_t key);
  // The oldest takes much longer than it was thought to, and so may what is behind it.
  bool is_much_longer(std::int64_t now_ns, std::int64_t bound_ns) const;
  // 0: one more of that kind may be submitted now. Else: look again after so long at the latest.
  std::int64_t wait_ns(std::int64_t now_ns, std::int64_t bound_ns, std::uint64_t key);
  // When the oldest mark should be looked at.
  std::int64_t poll_in_ns(std::int64_t now_ns) const;

  // What one submission of a kind is thought to take.
  std::int64_t guess_ns(std::uint64_t key) { return kinds_.guess_ns(kinds_.find(key)); }
  // Whether that is more than a first guess.
  bool has_learnt(std::uint64_t key) { return kinds_.has_learnt(kinds_.find(key)); }
  std::int64_t last_submission_ns() const { return last_submission_ns_; }
  std::int64_t last_completion_ns() const { return last_completion_ns_; }
  // Marks are numbered from 1 on: the oldest of those that are left, or the next one; and that.
  std::uint64_t oldest_number() const { return marks_ > 0 ? oldest().number : next_number(); }
  std::uint64_t next_number() const { return numbered_ + 1; }
  // Of marks that were seen to complete, ever.
  std::uint32_t completions() const { return completions_; }
  bool is_empty() const { return marks_ == 0 && behind_.kinds == 0; }

  // Everything that was submitted is done, as a synchronisation has shown.
  void emptied(std::int64_t now_ns);

 private:
  struct Mark {
    std::int64_t submitted_ns;  // when its first submission was made
    Kinds::Span span;
    std::uint64_t number;
  };
  const Mark& oldest() const { return ring_[first_]; }
  std::int64_t started_ns() const;

  Kinds kinds_;
  Mark ring_[kMarksMax] = {};
  int first_ = 0;
  int marks_ = 0;
  std::int64_t marked_ns_ = 0;  // what all in the ring is thought to take
  Kinds::Span behind_ = {};     // submissions behind the last mark
  std::int64_t behind_since_ns_ = 0;
  std::int64_t last_mark_ns_ = 0;
  std::int64_t last_submission_ns_ = 0;
  std::int64_t last_completion_ns_ = 0;
  std::uint32_t completions_ = 0;
  std::uint64_t numbered_ = 0;     // marks, ever
  std::int64_t ours_from_ns_ = 0;  // no work of ours ran before
  std::int64_t last_look_ns_ = 0;  // when the oldest mark was last seen not to be complete
};

}  // namespace nvs::interposer::flow
