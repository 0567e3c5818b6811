// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/drain.h"

#include <atomic>
#include <bit>

#include "interposer/exports/real.h"
#include "interposer/flow/flow.h"
#include "interposer/flow/relaxed_capture.h"
#include "interposer/gate/gate.h"
#include "interposer/memory/graph_room.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/session/captures.h"
#include "interposer/session/contexts.h"
#include "interposer/session/faults.h"
#include "interposer/session/thread.h"
#include "os/linux_calls.h"

namespace nvs::interposer::drain {
namespace {

constexpr std::int64_t kSlice_ns = 10'000'000;
constexpr std::int64_t kMarkPause_ns = 50'000;

struct Worker {
  std::atomic<bool> there;
  std::atomic<std::uint32_t> job;  // the number of the one to do; 0: none
  // Grows with everything that it may sleep for: a futex.
  std::atomic<std::uint32_t> changes;
};
constinit Worker workers[gate::kGpusMax] = {};
constinit std::atomic<std::uint32_t> jobs{0};
// GPUs whose workers wait until no capture goes on, one bit each.
constinit std::atomic<std::uint32_t> settling{0};

void wait_for_change(const Worker& worker, std::uint32_t seen) {
  os::futex_wait(reinterpret_cast<const volatile std::uint32_t*>(&worker.changes), seen);
}

void wake(Worker& worker) {
  worker.changes.fetch_add(1);
  os::futex_wake(reinterpret_cast<const volatile std::uint32_t*>(&worker.changes), 1);
}

bool is_current(int gpu, std::uint32_t job) {
  return workers[gpu].job.load(std::memory_order_acquire) == job;
}

// Errors mean that nothing runs there any more: the context is broken, or the process ends.
void synchronise_context(int gpu, CUcontext context) {
  const auto push = real<Row::cuCtxPushCurrent_v2>();
  const auto pop = real<Row::cuCtxPopCurrent_v2>();
  const auto synchronise = real<Row::cuCtxSynchronize>();
  if (push == nullptr || pop == nullptr || synchronise == nullptr) return;
  if (push(context) != CUDA_SUCCESS) return;
  faults::note(gpu, synchronise());
  CUcontext popped = nullptr;
  pop(&popped);
}

// Under a capture no context may be synchronised. The marks tell what was submitted since the queue
// was bounded, which is all that can matter to others in time.
void wait_for_marks(int gpu, std::uint32_t job) {
  flow::Look look{};
  while (is_current(gpu, job) && flow::is_bounded(gpu)) {
    if (flow::look(gpu, look) && look.done) return;
    os::sleep_ns(kMarkPause_ns);
  }
}

// What was waited for.
enum class Waited : std::uint8_t {
  all,    // every context
  marks,  // what they tell of, because of a capture
  less,   // not one that a call was about to end: it may go on with all its work
};

Waited synchronise(int gpu, std::uint32_t job) {
  Waited waited = Waited::all;
  for (int i = 0; i < contexts::kContextsMax; ++i) {
    CUcontext context = nullptr;
    const contexts::Taken taken = contexts::try_to_take(i, gpu, context);
    if (taken == contexts::Taken::ending) waited = Waited::less;
    if (taken != contexts::Taken::yes) continue;
    if (captures::begin_synchronise(gpu)) {
      synchronise_context(gpu, context);
      captures::end_synchronise(gpu);
    } else {
      wait_for_marks(gpu, job);
      if (waited == Waited::all) waited = Waited::marks;
    }
    contexts::give_back(i);
  }
  return waited;
}

// The window is over, but no memory may move before what marks do not tell of has ended, which can
// be waited for when the capture has. False: it has not come to that.
bool settle(int gpu, std::uint32_t job) {
  for (;;) {
    const std::uint32_t seen = workers[gpu].changes.load();
    if (!is_current(gpu, job) || !is_unsettled(gpu, job)) return false;
    if (captures::is_any()) {
      wait_for_change(workers[gpu], seen);  // the next job is one as well
      continue;
    }
    const flow::Moment since = flow::now(gpu);
    const Waited waited = synchronise(gpu, job);
    if (faults::is_noted(gpu)) session::act_on_fault(gpu);
    if (waited == Waited::less) os::sleep_ns(kMarkPause_ns);
    if (waited != Waited::all || !is_current(gpu, job)) continue;
    flow::emptied(gpu, since);
    settled(gpu, job);
    return true;
  }
}

// The end of the last capture wakes us up.
bool settle_when_told(int gpu, std::uint32_t job) {
  settling.fetch_or(1U << gpu);
  const bool is_settled = settle(gpu, job);
  settling.fetch_and(~(1U << gpu));
  return is_settled;
}

// Everything that was inside or let in since the last pass is waited for in the next one.
void run(int gpu, std::uint32_t job) {
  const RelaxedCapture relaxed;
  while (is_current(gpu, job)) {
    const std::uint32_t let_in = gate::let_in_so_far(gpu);
    if (!gate::wait_until_outside(kSlice_ns)) continue;
    const flow::Moment since = flow::now(gpu);
    const Waited waited = synchronise(gpu, job);
    if (faults::is_noted(gpu)) session::act_on_fault(gpu);
    if (!is_current(gpu, job)) return;
    gate::let_nobody_in(gpu);
    while (is_current(gpu, job) && !gate::wait_until_outside(kSlice_ns)) {
    }
    // A context that is being destroyed waits for its own work, and is then gone.
    if (waited == Waited::less) os::sleep_ns(kMarkPause_ns);
    if (gate::let_in_so_far(gpu) != let_in || waited == Waited::less) continue;
    if (!is_current(gpu, job)) return;
    if (!contexts::knows_all(gpu)) return impossible(gpu, job);
    const bool all = waited == Waited::all;
    if (all) flow::emptied(gpu, since);
    swap::make_room_if_above(gpu);
    if (!completed(gpu, job, let_in, all ? Certainty::all : Certainty::marks)) continue;
    // Afterwards, because it may take long and the daemon waits for our word. By then the next
    // window may have begun, which is harmless: the driver gives back only what is not in use.
    if (all || settle_when_told(gpu, job)) memory::graphs::drained(gpu);
    std::uint32_t done = job;
    workers[gpu].job.compare_exchange_strong(done, 0);
    return;
  }
}

void work(void* argument) {
  const auto gpu = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  Worker& worker = workers[gpu];
  for (;;) {
    const std::uint32_t seen = worker.changes.load();
    const std::uint32_t job = worker.job.load(std::memory_order_acquire);
    if (job == 0) {
      wait_for_change(worker, seen);
    } else {
      run(gpu, job);
    }
  }
}

}  // namespace

bool prepare(int gpu) {
  if (workers[gpu].there.exchange(true)) return true;
  const bool started =
      start_thread(&work, reinterpret_cast<void*>(static_cast<std::intptr_t>(gpu)));
  if (!started) workers[gpu].there.store(false);
  return started;
}

std::uint32_t begin(int gpu) {
  Worker& worker = workers[gpu];
  std::uint32_t job = jobs.fetch_add(1) + 1;
  if (job == 0) job = jobs.fetch_add(1) + 1;
  worker.job.store(job, std::memory_order_release);
  wake(worker);
  return job;
}

void cancel(int gpu) { workers[gpu].job.store(0, std::memory_order_release); }

void captures_ended() {
  for (std::uint32_t left = settling.load(); left != 0; left &= left - 1) {
    wake(workers[std::countr_zero(left)]);
  }
}

void start_over_in_child() {
  settling.store(0, std::memory_order_relaxed);
  for (Worker& worker : workers) {
    worker.there.store(false, std::memory_order_relaxed);
    worker.job.store(0, std::memory_order_relaxed);
  }
}

}  // namespace nvs::interposer::drain
