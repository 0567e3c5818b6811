// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/gate.h"

#include "interposer/flow/flow.h"
#include "interposer/gate/backoff.h"
#include "interposer/gate/call_target.h"
#include "interposer/gate/credits.h"
#include "interposer/gate/graph_gpus.h"
#include "interposer/gate/launch_list.h"
#include "interposer/gate/named_memory.h"
#include "interposer/gate/nesting.h"
#include "interposer/gate/slots.h"
#include "interposer/gate/waits.h"
#include "interposer/memory/swap/presence.h"
#include "interposer/resolve/clock.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/captures.h"
#include "interposer/session/session.h"
#include "os/linux_calls.h"

namespace nvs::interposer::gate {
namespace {

// Some GPU's queue is bounded: no thread takes the short way.
constexpr std::uint32_t kBounded = 1U << 30;
constexpr std::uint32_t bit_of(int gpu) { return 1U << gpu; }
static_assert((kAllGpus & (kBounded | kFence)) == 0);

enum class Barrier { unknown, system, fence };
constinit std::atomic<Barrier> barrier{Barrier::unknown};

// Threads without a slot that are inside.
constinit std::atomic<std::uint32_t> crowd{0};
constinit thread_local std::uint32_t crowd_depth __attribute__((tls_model("initial-exec"))) = 0;

// What leave() has to do, for a thread's outermost call.
struct Pending {
  Slot* slot;  // null: in the crowd
  CUstream stream;
  int gpu;              // whose queue is bounded; -1: none
  flow::Engine engine;  // by which it was counted
  bool is_named;        // the stream is what the program said
  Launches others;      // on further GPUs
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

// A mark that a longjmp left behind means nothing.
bool is_nested_in(const Slot& slot, std::uintptr_t frame) {
  const std::uintptr_t marked = slot.inside.load(std::memory_order_relaxed);
  return marked != 0 && marked != frame && is_nested(marked, frame);
}

Slot* marked(const Mark& mark) {
  if (mark.slot == nullptr) pending = {nullptr, nullptr, -1, {}, false, {}};
  return mark.slot;
}

// The longest that a call waits for room in a bounded queue.
constexpr std::int64_t kRoomPatience_ns = 50'000'000;

// One call at a gate that is closed for some GPU, or behind which some queue is bounded.
class Visit {
 public:
  Visit(const Call& call, const Mark& mark) : call_(call), mark_(mark), target_(target_of(call)) {
    if (call.names_memory()) owners_ = owners_named_by(call);
    named_ = gpus_named_by(call) | (call.graph != nullptr ? owners_ : 0);
    closed_for_us_ = owners_ | named_ | (target_.gpu < 0 ? 0 : bit_of(target_.gpu));
  }

  Slot* enter() {
    if (target_.captured) return enter_captured();
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
      const bool bounded = (seen & kBounded) != 0 && target_.gpu >= 0 && call_.stream != nullptr;
      if (bounded && !has_room(change)) continue;
      mark_.set();
      const std::uint32_t inside = word_after_mark();
      if ((inside & closed_for_us_) == 0) {
        // Said where a drain waits for us: said before, an earlier one may have ended since.
        if (call_.submits && (inside & kBounded) != 0) lose_track();
        return entered();
      }
      mark_.clear();
    }
  }

 private:
  // A kernel is not looked at before its graph is launched. Marked first: whoever chooses what
  // leaves afterwards, under the lock under which we look, sees the mark. It is in a slot of its
  // own, because calls that are nested in this one may submit something, and then are waited for.
  Slot* enter_captured() const {
    if (!call_.names_memory()) return &unmarked;
    Slot* slot = mark_.slot != nullptr ? &captured_slot(*mark_.slot) : nullptr;
    if (slot != nullptr && is_nested_in(*slot, call_.frame)) return &unmarked;
    const Mark mark{slot, call_.frame};
    for (;;) {
      mark.set();
      const swap::Missing missing = swap::find_missing();
      if (missing.gpu < 0) return marked(mark);
      mark.clear();
      swap::wait_for(missing);
    }
  }

  void wait_while_closed(std::uint32_t seen, std::uint32_t change) const {
    for (int gpu = 0; gpu < kGpusMax; ++gpu) {
      if ((seen & closed_for_us_ & bit_of(gpu)) != 0) session::want(gpu);
    }
    waits::at_closed_gate(change);
  }

  // It was counted, or waited for room, and then the gate closed.
  void forget_count() {
    if (room_.counted) flow::take_back(target_.gpu, room_.engine);
    if (room_.asked_ns != 0) flow::asks_no_more(target_.gpu, room_.asked_ns);
    room_ = {};
  }

  // Of what is not counted. A copy between GPUs that names no stream is so on one of them, and a
  // graph on that of its stream.
  void lose_track() const {
    if (room_.counted && call_.on_stream && call_.graph == nullptr) return;
    const std::uint32_t others = target_.gpu < 0 ? kAllGpus : named_;
    for (int gpu = 0; gpu < kGpusMax; ++gpu) {
      if (gpu == target_.gpu ? !room_.counted : (others & bit_of(gpu)) != 0) flow::lose_track(gpu);
    }
  }

  bool has_room(std::uint32_t change) {
    if (room_.counted) return true;
    room_ = flow::ask(target_.gpu, call_.stream, call_.kind, room_.asked_ns);
    if (room_.wait_ns == 0) return true;
    // Work that is queued may wait for this very submission.
    if (clock_ns() - room_.asked_ns > kRoomPatience_ns) {
      flow::waited_in_vain(target_.gpu, room_.asked_ns, room_.engine);
      room_.counted = flow::count(target_.gpu, call_.stream, call_.kind, room_.engine);
      return true;
    }
    waits::for_room(change, room_);
    return false;
  }

  // One for each GPU that is closed for us: where there is none, memory may be away. Marked first:
  // whoever takes the credits back afterwards sees the mark of each one used.
  bool enter_by_credit(std::uint32_t closed) {
    if (target_.gpu < 0 || !has_credits(closed)) return false;
    mark_.set();
    // Another one may have closed before that.
    const bool closed_since = (word_after_mark() & closed_for_us_ & ~closed) != 0;
    if (closed_since || !take_credits(closed)) {
      mark_.clear();
      return false;
    }
    if (call_.stream != nullptr && call_.submits)
      room_.counted = flow::count(target_.gpu, call_.stream, call_.kind, room_.engine);
    if (call_.submits) lose_track();
    return true;
  }

  Slot* entered() const {
    if (owners_ != 0 && call_.submits) note_submitted(owners_, target_.gpu);
    if (!room_.counted) return marked(mark_);
    const Launches others = count_others(call_);
    pending = {mark_.slot, call_.stream, target_.gpu, room_.engine, call_.on_stream, others};
    if (mark_.slot != nullptr) {
      const std::uint32_t gpus = bit_of(target_.gpu) | others.gpus;
      mark_.slot->submits_to.store(gpus, std::memory_order_relaxed);
      mark_.slot->stream.store(call_.stream, std::memory_order_relaxed);
    }
    return nullptr;
  }

  const Call& call_;
  const Mark& mark_;
  Target target_;
  std::uint32_t owners_ = 0;  // whose memory it names, in a process with several GPUs
  std::uint32_t named_ = 0;   // the GPUs that it says it is for, beside its stream's
  std::uint32_t closed_for_us_ = 0;
  flow::Room room_ = {};  // what flow said of this submission
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
  if (slot != nullptr && is_nested_in(*slot, call.frame)) return &unmarked;
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
    // Where the program named no stream, the default stream may be one that nothing can be added
    // to: a capture elsewhere would be broken.
    if (done.is_named || !is_captured(done.stream)) {
      flow::mark(done.gpu, done.stream, done.engine);
    } else {
      flow::made(done.gpu, done.engine);
    }
    mark_others(done.others);
    if (done.slot != nullptr) {
      done.slot->submits_to.store(0, std::memory_order_relaxed);
      done.slot->stream.store(nullptr, std::memory_order_release);
    }
  }
  Mark{done.slot, 0}.clear();
}

bool begin_close(int gpu) {
  choose_barrier();
  forget_credit(gpu);
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
  if (!is_shared()) return false;
  return !target_of(call).captured;
}

void get_ready(std::int64_t until_ns) { waits::get_ready(until_ns); }

// Of those without a slot nobody knows what they do; they are few, and inside for moments.
bool is_captured_inside() {
  const bool is_crowd = captures::is_any() && crowd.load(std::memory_order_acquire) != 0;
  return is_crowd || is_captured_marked();
}

int threads_inside() {
  int count = static_cast<int>(crowd.load(std::memory_order_acquire));
  for (std::uint32_t i = 0; i < slots_used(); ++i) {
    if (slot_at(i).inside.load(std::memory_order_acquire) != 0) ++count;
  }
  return count;
}

bool is_submitting(int gpu) {
  for (std::uint32_t i = 0; i < slots_used(); ++i) {
    const Slot& slot = slot_at(i);
    if (slot.inside.load(std::memory_order_acquire) == 0) continue;
    if ((slot.submits_to.load(std::memory_order_relaxed) & bit_of(gpu)) != 0) return true;
  }
  return false;
}

void start_over_in_child() {
  forget_slots();
  crowd.store(0, std::memory_order_relaxed);
  crowd_depth = 0;
  forget_credits();
  waits::start_over_in_child();
  forget_graphs_in_child();
  forget_gpus_in_child();
  word.store(0, std::memory_order_relaxed);
  // The kernel may or may not have kept the registration.
  barrier.store(Barrier::unknown, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::gate
