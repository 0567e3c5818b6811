// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/gate.h"

#include <bit>

#include "interposer/flow/flow.h"
#include "interposer/gate/backoff.h"
#include "interposer/gate/call_target.h"
#include "interposer/gate/named_memory.h"
#include "interposer/gate/nesting.h"
#include "interposer/gate/slots.h"
#include "interposer/gate/waits.h"
#include "interposer/memory/swap/presence.h"
#include "interposer/resolve/clock.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/session.h"
#include "os/linux_calls.h"

namespace nvs::interposer::gate {
namespace {

// Set for good once membarrier is not allowed: no thread then takes the short way, and each one
// makes a fence of its own.
constexpr std::uint32_t kFence = 1U << 31;
// Some GPU's queue is bounded: no thread takes the short way.
constexpr std::uint32_t kBounded = 1U << 30;
constexpr std::uint32_t bit_of(int gpu) { return 1U << gpu; }
constexpr std::uint32_t kAllGpus = kBounded - 1;
static_assert(kGpusMax <= 30);

enum class Barrier { unknown, system, fence };
constinit std::atomic<Barrier> barrier{Barrier::unknown};

// Threads without a slot that are inside.
constinit std::atomic<std::uint32_t> crowd{0};
constinit thread_local std::uint32_t crowd_depth __attribute__((tls_model("initial-exec"))) = 0;

// Submissions that may pass a closed gate, and those that did.
constinit std::atomic<std::uint32_t> credits[kGpusMax] = {};
constinit std::atomic<std::uint32_t> let_in[kGpusMax] = {};

// What leave() has to do, for a thread's outermost call.
struct Pending {
  Slot* slot;  // null: in the crowd
  CUstream stream;
  int gpu;  // whose queue is bounded; -1: none
};
constinit thread_local Pending pending __attribute__((tls_model("initial-exec"))) = {};

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
void leave_crowd() {
  --crowd_depth;
  crowd.fetch_sub(1, std::memory_order_release);
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

Slot* marked(const Mark& mark) {
  if (mark.slot == nullptr) pending = {nullptr, nullptr, -1};
  return mark.slot;
}

bool take_credit(int gpu) {
  std::uint32_t left = credits[gpu].load(std::memory_order_acquire);
  while (left != 0) {
    if (credits[gpu].compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

bool has_credits(std::uint32_t gpus) {
  for (; gpus != 0; gpus &= gpus - 1) {
    if (credits[std::countr_zero(gpus)].load(std::memory_order_acquire) == 0) return false;
  }
  return true;
}

// All or none. What is given back is so before the mark is cleared, so that no drain ends with it.
bool take_credits(std::uint32_t gpus) {
  std::uint32_t taken = 0;
  for (std::uint32_t left = gpus; left != 0; left &= left - 1) {
    const int gpu = std::countr_zero(left);
    if (take_credit(gpu)) {
      taken |= bit_of(gpu);
      continue;
    }
    for (; taken != 0; taken &= taken - 1) {
      credits[std::countr_zero(taken)].store(1, std::memory_order_release);
    }
    return false;
  }
  return true;
}

// The longest that a call waits for room in a bounded queue.
constexpr std::int64_t kRoomPatience_ns = 50'000'000;

// One call at a gate that is closed for some GPU, or behind which some queue is bounded.
class Visit {
 public:
  Visit(const Call& call, const Mark& mark) : call_(call), mark_(mark), target_(target_of(call)) {
    if (call.names_memory()) owners_ = owners_named_by(call);
    closed_for_us_ = call.on_all_gpus ? kAllGpus : target_.gpu < 0 ? 0 : bit_of(target_.gpu);
    closed_for_us_ |= owners_;
  }

  Slot* enter() {
    const bool adds_to_graph = target_.captured || !call_.submits;
    if (owners_ != 0 && adds_to_graph) note_in_graph(owners_, target_.gpu);
    if (target_.captured) {
      swap::wait_until_there(word.load(std::memory_order_acquire) & kAllGpus);
      return &unmarked;
    }
    if (target_.gpu >= 0) session::gpu_used(target_.gpu);
    for (;;) {
      const std::uint32_t change = waits::changes();
      const std::uint32_t seen = word.load(std::memory_order_acquire);
      if ((seen & closed_for_us_) != 0) {
        forget_count();
        if (enter_by_credit(seen & closed_for_us_)) return entered();
        wait_while_closed(seen, change);
        continue;
      }
      // Calls that name no stream mostly wait for themselves; and there is no stream to mark.
      const bool bounded = (seen & kBounded) != 0 && target_.gpu >= 0 && call_.on_stream;
      if (bounded && !has_room(change)) continue;
      mark_.set();
      const std::uint32_t inside = word_after_mark();
      if ((inside & closed_for_us_) == 0) {
        // Said where a drain waits for us: said before, an earlier one may have ended since.
        if (!counted_ && call_.submits && (inside & kBounded) != 0) lose_track();
        return entered();
      }
      mark_.clear();
    }
  }

 private:
  void wait_while_closed(std::uint32_t seen, std::uint32_t change) const {
    for (int gpu = 0; gpu < kGpusMax; ++gpu) {
      if ((seen & closed_for_us_ & bit_of(gpu)) != 0) session::want(gpu);
    }
    waits::at_closed_gate(change);
  }

  // It was counted, and then the gate closed before it could be made.
  void forget_count() {
    if (counted_) flow::take_back(target_.gpu);
    counted_ = false;
  }

  void lose_track() const {
    const bool one = call_.on_stream && !call_.on_all_gpus && target_.gpu >= 0;
    for (int gpu = 0; gpu < kGpusMax; ++gpu) {
      if (!one || gpu == target_.gpu) flow::lose_track(gpu);
    }
  }

  bool has_room(std::uint32_t change) {
    if (counted_) return true;
    const flow::Room room = flow::ask(target_.gpu, call_.stream, call_.kind);
    counted_ = room.counted;
    if (room.wait_ns == 0) return true;
    // Work that is queued may wait for this very submission.
    if (asked_since_ns_ == 0) asked_since_ns_ = clock_ns();
    if (clock_ns() - asked_since_ns_ > kRoomPatience_ns) {
      counted_ = flow::count(target_.gpu, call_.stream, call_.kind);
      return true;
    }
    waits::for_room(change, room);
    return false;
  }

  // One for each GPU that is closed for us: where there is none, memory may be away. Marked first:
  // whoever takes the credits back afterwards sees the mark of each one used.
  bool enter_by_credit(std::uint32_t closed) {
    if (target_.gpu < 0 || !has_credits(closed)) return false;
    mark_.set();
    if (!take_credits(closed)) {
      mark_.clear();
      return false;
    }
    for (std::uint32_t left = closed; left != 0; left &= left - 1) {
      let_in[std::countr_zero(left)].fetch_add(1, std::memory_order_seq_cst);
    }
    if (call_.on_stream && call_.submits)
      counted_ = flow::count(target_.gpu, call_.stream, call_.kind);
    if (!counted_ && call_.submits) flow::lose_track(target_.gpu);
    return true;
  }

  Slot* entered() const {
    if (owners_ != 0 && call_.submits) note_submitted(owners_, target_.gpu);
    if (!counted_) return marked(mark_);
    pending = {mark_.slot, call_.stream, target_.gpu};
    return nullptr;
  }

  const Call& call_;
  const Mark& mark_;
  Target target_;
  std::uint32_t owners_ = 0;  // whose memory it names, in a process with several GPUs
  std::uint32_t closed_for_us_ = 0;
  bool counted_ = false;  // flow knows of this submission
  std::int64_t asked_since_ns_ = 0;
};

// The gate is closed for some GPU, or some queue is bounded.
Slot* wait_and_enter(const Call& call, const Mark& mark) {
  const libc::NoCancel no_cancel;
  mark.clear();
  return Visit(call, mark).enter();
}

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
  while (crowd.load(std::memory_order_acquire) != crowd_depth) {  // the caller may be in it
    if (deadline.is_over()) return false;
    backoff.pause();
  }
  return true;
}

}  // namespace

constinit std::atomic<std::uint32_t> word{0};

Slot* enter(const Call& call) {
  choose_barrier();
  // Though a slot may have become free since.
  if (crowd_depth != 0) return &unmarked;
  Slot* slot = thread_slot != nullptr ? thread_slot : take_slot();
  if (slot != nullptr) {
    const std::uintptr_t marked = slot->inside.load(std::memory_order_relaxed);
    const bool is_our_own = marked == 0 || marked == call.frame;
    if (!is_our_own && is_nested(marked, call.frame)) return &unmarked;
  }
  const Mark mark{slot, call.frame};
  mark.set();
  const std::uint32_t seen = word_after_mark();
  const bool is_looked_at = call.names_memory() && several.load(std::memory_order_relaxed) != 0;
  if ((seen & (kAllGpus | kBounded)) == 0 && !is_looked_at) return marked(mark);
  return wait_and_enter(call, mark);
}

void leave() {
  const Pending done = pending;
  if (done.gpu >= 0) {
    const libc::NoCancel no_cancel;
    flow::mark(done.gpu, done.stream);
  }
  Mark{done.slot, 0}.clear();
}

bool begin_close(int gpu) {
  choose_barrier();
  credits[gpu].store(0, std::memory_order_relaxed);
  word.fetch_or(bit_of(gpu), std::memory_order_seq_cst);
  return barrier_on_all_threads();
}

bool wait_until_outside(std::int64_t timeout_ns) { return wait_for_slots(Deadline{timeout_ns}); }

bool close(int gpu, std::int64_t timeout_ns) {
  if (begin_close(gpu) && wait_until_outside(timeout_ns)) return true;
  open(gpu);
  return false;
}

void open(int gpu) {
  word.fetch_and(~bit_of(gpu), std::memory_order_seq_cst);
  waits::changed();
}

bool is_closed(int gpu) { return (word.load(std::memory_order_acquire) & bit_of(gpu)) != 0; }

void set_bounded(bool bounded) {
  const bool is_bounded = (word.load(std::memory_order_acquire) & kBounded) != 0;
  if (is_bounded == bounded) return;
  if (bounded) {
    word.fetch_or(kBounded, std::memory_order_seq_cst);
  } else {
    word.fetch_and(~kBounded, std::memory_order_seq_cst);
  }
  waits::changed();
}

bool takes_pieces(const Call& call) {
  if ((word.load(std::memory_order_relaxed) & (kAllGpus | kBounded)) == 0) return false;
  return !target_of(call).captured;
}

void get_ready(std::int64_t until_ns) { waits::get_ready(until_ns); }

void let_one_in(int gpu) {
  credits[gpu].store(1, std::memory_order_release);
  waits::changed();
}

void let_nobody_in(int gpu) { credits[gpu].exchange(0, std::memory_order_acq_rel); }

bool may_let_in(int gpu) { return credits[gpu].load(std::memory_order_seq_cst) != 0; }

std::uint32_t let_in_so_far(int gpu) { return let_in[gpu].load(std::memory_order_seq_cst); }

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
  for (auto& credit : credits) credit.store(0, std::memory_order_relaxed);
  waits::start_over_in_child();
  forget_graphs_in_child();
  word.store(0, std::memory_order_relaxed);
  // The kernel may or may not have kept the registration.
  barrier.store(Barrier::unknown, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::gate
