// SPDX-License-Identifier: Apache-2.0
// Whose kernels run: one context at a time. A context keeps the GPU while it has work; when another
// one waits it is passed on after a full slice, which costs time, or as soon as the holder runs
// dry, which does not.
//
// Time is a ledger: a kernel starts at the later of "ready" and "free", whenever its process gets
// round to saying so. A process that wakes up late thus loses no GPU time, and one that is killed
// or stopped loses the GPU when its time is over.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "cuda_sim/machine/clock.h"
#include "cuda_sim/machine/shared_lock.h"

namespace nvs::sim {

struct SliceTimes {
  Nanos slice;
  Nanos switch_cost;
  Nanos grace;  // how long after its time a silent holder or waiter keeps its place
};

struct ComputeRequest {
  std::uint64_t context = 0;  // unique on the machine, never 0
  Nanos now = 0;
  Nanos ready = 0;    // when the work could start
  Nanos want = 0;     // how long it takes
  bool more = false;  // whether the context has more work queued behind it
};

/// Either a reservation [start, end), or the time at which to ask again.
struct ComputeAnswer {
  bool granted = false;
  Nanos start = 0;
  Nanos end = 0;
  Nanos retry_at = 0;
  std::uint32_t epoch = 0;  // of the hand-over to wait for
};

class ComputeToken {
 public:
  static constexpr unsigned kWaitersMax = 128;

  ComputeAnswer request(const ComputeRequest& request, const SliceTimes& times);

  /// Sleeps until the GPU is handed over once more after `answer`, or until its time to ask again.
  void wait(const ComputeAnswer& answer);

  /// The context has nothing more to run: the next one need not wait for its slice to end.
  void run_dry(std::uint64_t context);

  /// Forgets a context that ends.
  void leave(std::uint64_t context);

  /// Counts hand-overs; a waiter is woken when it changes.
  std::uint32_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  std::uint64_t busy_ns() const { return busy_ns_.load(std::memory_order_relaxed); }

 private:
  struct Waiter {
    std::uint64_t context = 0;
    std::uint64_t ticket = 0;
    Nanos renewed_at = 0;
  };

  bool others_wait(std::uint64_t context) const;
  bool is_first(std::uint64_t context) const;
  void drop_silent_waiters(Nanos now, Nanos grace);
  void enqueue(std::uint64_t context, Nanos now);
  void dequeue(std::uint64_t context);
  void announce();
  ComputeAnswer later(Nanos retry_at) const;

  SharedLock lock_{FromStopped::steal};
  std::atomic<std::uint32_t> epoch_{0};
  std::uint64_t holder_ = 0;
  bool holder_has_more_ = false;
  Nanos slice_begin_ = 0;
  Nanos free_at_ = 0;
  std::uint64_t next_ticket_ = 1;
  std::atomic<std::uint64_t> busy_ns_{0};
  std::array<Waiter, kWaitersMax> waiters_{};
};

}  // namespace nvs::sim
