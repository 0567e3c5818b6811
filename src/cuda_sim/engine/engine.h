// SPDX-License-Identifier: Apache-2.0
// Runs the ops of one context: a worker thread for kernels, one for each copy direction, one for
// host functions, each started when first needed. Workers reserve modelled time in the machine's
// ledgers, make the effect, and go on to the next op while they are less than a look-ahead in front
// of the clock, so that waking up late costs no GPU time.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cuda_sim/engine/op.h"
#include "cuda_sim/machine/machine.h"

namespace nvs::sim {

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  /// `lock` is the driver's lock; `on_fault` is called under it when an op touches an illegal
  /// address.
  Engine(std::mutex& lock, Machine& machine, unsigned gpu, std::uint64_t context_key,
         std::function<void(const Op&)> on_fault);

  /// All of these are called with the driver's lock held.
  void submit(const OpPtr& op, std::span<const OpPtr> after);
  void wait(std::unique_lock<std::mutex>& guard, const OpPtr& op);
  /// Until everything submitted so far has finished.
  void wait_all(std::unique_lock<std::mutex>& guard);
  /// Blocks the submitter while more launches are queued than the hardware's queue holds.
  void wait_for_room(std::unique_lock<std::mutex>& guard);
  /// From now on ops end at once and without effect: the context is poisoned or destroyed.
  void stop();
  /// Lets ops end that hang.
  void release_hangs() { hang_releases_.fetch_add(1); }
  /// The name of an op in flight that uses [begin, begin + size), or null.
  const char* user_of(std::uint64_t begin, std::uint64_t size);
  /// The same for an op that may still touch it: one that is not done.
  const char* coming_user_of(std::uint64_t begin, std::uint64_t size);
  /// Whether one of `later` cannot start before `first` has ended; only for a first op that is not
  /// done.
  static bool orders(const OpPtr& first, std::span<const OpPtr> later);

  Machine& machine() { return machine_; }
  unsigned gpu() const { return gpu_; }

 private:
  struct Worker {
    std::deque<OpPtr> queue;
    std::condition_variable wake;
    bool started = false;
    bool busy = false;
  };

  void dispatch(OpPtr op);
  void complete(const OpPtr& op, Nanos end);
  void finish(Op& op, Nanos end);
  void enqueue(const OpPtr& op);
  bool try_inline(const OpPtr& op);
  bool run_at_once(const OpPtr& op);
  void release_dependents(Op& op);
  void work(Lane lane);
  void execute(const OpPtr& op);
  bool resolve(Op& op);
  Nanos run_compute(Op& op);
  Nanos run_copy(Op& op);
  Nanos run_host(Op& op);
  Nanos reserve_copy(Lane lane, Nanos ready, std::uint64_t bytes);
  void account(Nanos busy, Nanos now);
  void wait_until_known(std::unique_lock<std::mutex>& guard, Nanos end);
  SliceTimes slice_times() const;

  std::mutex& lock_;
  Machine& machine_;
  const unsigned gpu_;
  const std::uint64_t context_key_;
  const std::function<void(const Op&)> on_fault_;
  std::array<Worker, kLanes> workers_;  // under lock_
  std::condition_variable progress_;    // some op is done; under lock_
  std::vector<OpPtr> in_flight_;  // ops that use memory and may not have finished; under lock_
  std::uint64_t not_done_ = 0;    // ops submitted; under lock_
  Nanos last_end_ = 0;            // of those that are done; under lock_
  std::atomic<unsigned> compute_pending_{0};
  std::atomic<unsigned> hang_releases_{0};
  std::atomic<bool> stopped_{false};
  Nanos compute_free_at_ = 0;  // end of this context's last kernel; only its executor writes it
};

}  // namespace nvs::sim
