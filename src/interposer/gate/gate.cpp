// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/gate.h"

#include "interposer/gate/call_target.h"
#include "interposer/gate/nesting.h"
#include "interposer/gate/slots.h"
#include "interposer/resolve/libc.h"
#include "os/linux_calls.h"

namespace nvs::interposer::gate {
namespace {

// Set for good once membarrier is not allowed: no thread then takes the short way, and each one
// makes a fence of its own.
constexpr std::uint32_t kFence = 1U << 31;
constexpr std::uint32_t bit_of(int gpu) { return 1U << gpu; }
constexpr std::uint32_t kAllGpus = kFence - 1;
static_assert(kGpusMax <= 31);

enum class Barrier { unknown, system, fence };
constinit std::atomic<Barrier> barrier{Barrier::unknown};

// Threads without a slot that are inside.
constinit std::atomic<std::uint32_t> crowd{0};
constinit thread_local std::uint32_t crowd_depth __attribute__((tls_model("initial-exec"))) = 0;

const volatile std::uint32_t* futex() {
  return reinterpret_cast<const volatile std::uint32_t*>(&word);
}

// Before the first mark of a process. Two threads may do it at once, with the same result.
void choose_barrier() {
  if (barrier.load(std::memory_order_acquire) != Barrier::unknown) return;
  const bool allowed = os::membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  if (!allowed) word.fetch_or(kFence, std::memory_order_seq_cst);
  barrier.store(allowed ? Barrier::system : Barrier::fence, std::memory_order_release);
}

// The open side's half of the bargain: either the closer sees our mark or we see that it closed.
std::uint32_t word_after_mark() {
  std::uint32_t seen = word.load(std::memory_order_relaxed);
  if ((seen & kFence) == 0) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  return word.load(std::memory_order_acquire);
}

// The closing side's half. False: membarrier is refused all of a sudden, by a filter that came
// late; from now on there are fences.
bool barrier_on_all_threads() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (barrier.load(std::memory_order_acquire) == Barrier::fence) return true;
  if (os::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return true;
  word.fetch_or(kFence, std::memory_order_seq_cst);
  barrier.store(Barrier::fence, std::memory_order_release);
  return false;
}

// For calls that leave no mark. What is stored here means nothing.
constinit Slot unmarked = {};

void join_crowd() {
  ++crowd_depth;
  crowd.fetch_add(1, std::memory_order_seq_cst);
}

struct Mark {
  Slot* slot;  // null: in the crowd
  std::uintptr_t frame;

  void set() const {
    if (slot == nullptr) {
      join_crowd();
    } else {
      slot->inside.store(frame, std::memory_order_relaxed);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void clear() const {
    if (slot == nullptr) {
      leave_crowd();
    } else {
      slot->inside.store(0, std::memory_order_release);
    }
  }
};

// The gate is closed for some GPU. Waits if it is that of the call, and marks again.
Slot* wait_and_enter(const Call& call, const Mark& mark, std::uint32_t seen) {
  const libc::NoCancel no_cancel;
  mark.clear();
  const Target target = target_of(call);
  if (target.captured) return &unmarked;
  const std::uint32_t closed_for_us = call.on_all_gpus ? kAllGpus
                                      : target.gpu < 0 ? 0
                                                       : bit_of(target.gpu);
  for (;;) {
    while ((seen & closed_for_us) != 0) {
      os::futex_wait(futex(), seen);
      seen = word.load(std::memory_order_acquire);
    }
    mark.set();
    seen = word_after_mark();
    if ((seen & closed_for_us) == 0) return mark.slot;
    mark.clear();
  }
}

// A pause that grows: most calls are over in microseconds, some copies take seconds.
class Backoff {
 public:
  void pause() {
    if (rounds_ < kSpins) {
      ++rounds_;
      return;
    }
    os::sleep_ns(sleep_ns_);
    sleep_ns_ = sleep_ns_ * 2 < kLongest_ns ? sleep_ns_ * 2 : kLongest_ns;
  }
  bool is_slow() const { return sleep_ns_ == kLongest_ns; }

 private:
  static constexpr int kSpins = 100;
  static constexpr std::int64_t kShortest_ns = 5'000;
  static constexpr std::int64_t kLongest_ns = 1'000'000;
  int rounds_ = 0;
  std::int64_t sleep_ns_ = kShortest_ns;
};

class Deadline {
 public:
  explicit Deadline(std::int64_t timeout_ns)
      : at_ns_(timeout_ns < 0 ? -1 : os::monotonic_ns() + timeout_ns) {}
  bool is_over() const { return at_ns_ >= 0 && os::monotonic_ns() >= at_ns_; }

 private:
  std::int64_t at_ns_;
};

bool wait_for_slots(const Deadline& deadline) {
  const std::uint32_t count = slots_used();
  for (std::uint32_t i = 0; i < count; ++i) {
    Slot& slot = slot_at(i);
    if (&slot == thread_slot) continue;
    Backoff backoff;
    while (slot.inside.load(std::memory_order_acquire) != 0) {
      if (deadline.is_over()) return false;
      backoff.pause();
      if (backoff.is_slow()) reclaim_if_dead(slot);
    }
  }
  Backoff backoff;
  while (crowd.load(std::memory_order_acquire) != 0) {
    if (deadline.is_over()) return false;
    backoff.pause();
  }
  return true;
}

}  // namespace

constinit std::atomic<std::uint32_t> word{0};

Slot* enter(const Call& call) {
  choose_barrier();
  Slot* slot = thread_slot != nullptr ? thread_slot : take_slot();
  if (slot != nullptr) {
    const std::uintptr_t marked = slot->inside.load(std::memory_order_relaxed);
    const bool is_our_own = marked == 0 || marked == call.frame;
    if (!is_our_own && is_nested(marked, call.frame)) return &unmarked;
  } else if (crowd_depth != 0) {
    return &unmarked;
  }
  const Mark mark{slot, call.frame};
  mark.set();
  const std::uint32_t seen = word_after_mark();
  if ((seen & kAllGpus) == 0) return slot;
  return wait_and_enter(call, mark, seen);
}

void leave_crowd() {
  --crowd_depth;
  crowd.fetch_sub(1, std::memory_order_release);
}

bool close(int gpu, std::int64_t timeout_ns) {
  choose_barrier();
  const Deadline deadline{timeout_ns};
  word.fetch_or(bit_of(gpu), std::memory_order_seq_cst);
  if (barrier_on_all_threads() && wait_for_slots(deadline)) return true;
  open(gpu);
  return false;
}

void open(int gpu) {
  word.fetch_and(~bit_of(gpu), std::memory_order_seq_cst);
  os::futex_wake(futex(), 0x7fffffff);
}

int threads_inside() {
  int count = static_cast<int>(crowd.load(std::memory_order_acquire));
  for (std::uint32_t i = 0; i < slots_used(); ++i) {
    if (slot_at(i).inside.load(std::memory_order_acquire) != 0) ++count;
  }
  return count;
}

void start_over_in_child() {
  forget_slots();
  crowd.store(0, std::memory_order_relaxed);
  crowd_depth = 0;
  word.store(0, std::memory_order_relaxed);
  // The kernel may or may not have kept the registration.
  barrier.store(Barrier::unknown, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::gate
