// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/engine/engine.h"

#include <algorithm>
#include <utility>

#include "cuda_sim/engine/worker_thread.h"

namespace nvs::sim {
namespace {

constexpr unsigned kLaunchQueue = 1024;
// Waking a thread takes this long on an idle host, and is no fault of the model.
constexpr Nanos kOrdinaryWake = 60'000;

}  // namespace

Engine::Engine(std::mutex& lock, Machine& machine, unsigned gpu, std::uint64_t context_key,
               std::function<void(const Op&)> on_fault)
    : lock_(lock),
      machine_(machine),
      gpu_(gpu),
      context_key_(context_key),
      on_fault_(std::move(on_fault)) {}

void Engine::submit(const OpPtr& op, std::span<const OpPtr> after) {
  const Nanos now = now_ns();
  const bool on_gpu = op->lane() != Lane::none && op->lane() != Lane::host;
  op->engine_ = this;
  op->ready_ = on_gpu ? now + machine_.dilate(machine_.model().start_ns) : now;
  ++not_done_;
  if (op->lane() == Lane::compute) compute_pending_.fetch_add(1);
  if (on_gpu) {
    // Finished ops are dropped here rather than by a timer: the list grows only while the program
    // submits.
    if (in_flight_.size() >= 64) {
      std::erase_if(in_flight_, [now](const OpPtr& o) { return o->finished(now); });
    }
    in_flight_.push_back(op);
  }
  for (const OpPtr& before : after) {
    if (!before) continue;
    if (before->done_) {
      op->ready_ = std::max(op->ready_, before->end_);
    } else {
      ++op->blockers_;
      before->dependents_.push_back(op);
    }
  }
  if (op->blockers_ == 0) dispatch(op);
}

// An op without a lane ends as soon as it is ready, and may free others: a list of work rather than
// a recursion, because a stream can hold thousands of such ops.
void Engine::dispatch(OpPtr op) {
  std::vector<OpPtr> ready{std::move(op)};
  while (!ready.empty()) {
    const OpPtr next = std::move(ready.back());
    ready.pop_back();
    Engine& owner = *next->engine_;
    if (next->lane() != Lane::none && !owner.stopped_.load()) {
      owner.enqueue(next);
      if (!next->done_) continue;
    } else {
      owner.finish(*next, next->ready_);
    }
    for (OpPtr& dependent : next->dependents_) {
      dependent->ready_ = std::max(dependent->ready_, next->end_);
      if (--dependent->blockers_ == 0) ready.push_back(std::move(dependent));
    }
    next->dependents_.clear();
  }
}

void Engine::enqueue(const OpPtr& op) {
  if (op->lane() == Lane::compute && try_inline(op)) return;
  Worker& worker = workers_[static_cast<unsigned>(op->lane())];
  worker.queue.push_back(op);
  if (!worker.started) {
    worker.started = true;
    start_worker([self = shared_from_this(), lane = op->lane()] { self->work(lane); });
  } else {
    worker.wake.notify_one();
  }
}

void Engine::finish(Op& op, Nanos end) {
  if (op.lane() == Lane::none) op.take_effect();
  op.let_go();
  op.done_ = true;
  op.end_ = end;
  --not_done_;
  last_end_ = std::max(last_end_, end);
  if (op.lane() == Lane::compute) compute_pending_.fetch_sub(1);
  progress_.notify_all();
}

void Engine::complete(const OpPtr& op, Nanos end) {
  finish(*op, end);
  release_dependents(*op);
}

void Engine::release_dependents(Op& op) {
  std::vector<OpPtr> dependents = std::move(op.dependents_);
  op.dependents_.clear();
  for (OpPtr& dependent : dependents) {
    dependent->ready_ = std::max(dependent->ready_, op.end_);
    if (--dependent->blockers_ == 0) dispatch(std::move(dependent));
  }
}

void Engine::wait(std::unique_lock<std::mutex>& guard, const OpPtr& op) {
  if (!op || op->finished(now_ns())) return;
  Engine& owner = *op->engine_;
  const auto keep_alive = owner.shared_from_this();
  while (!op->done_) owner.progress_.wait(guard);
  if (!owner.stopped_.load()) owner.wait_until_known(guard, op->end_);
}

// Without the lock: the end is known, and only the clock has to get there. Learning of it late is
// lost time if the GPU has nothing else to do for this context meanwhile.
void Engine::wait_until_known(std::unique_lock<std::mutex>& guard, Nanos end) {
  const Nanos notice = machine_.dilate(machine_.model().notify_ns);
  const Nanos known = end + notice;
  guard.unlock();
  wait_until(known);
  const Nanos late = now_ns() - known - kOrdinaryWake;
  guard.lock();
  GpuShare& books = machine_.gpu(gpu_);
  books.called_ns.fetch_add(static_cast<std::uint64_t>(notice), std::memory_order_relaxed);
  const bool starved = not_done_ == 0 && last_end_ <= end;
  if (late > 0 && starved) books.overrun_ns.fetch_add(static_cast<std::uint64_t>(late));
}

void Engine::wait_all(std::unique_lock<std::mutex>& guard) {
  const auto keep_alive = shared_from_this();
  while (not_done_ > 0 && !stopped_.load()) progress_.wait(guard);
  if (!stopped_.load() && last_end_ > now_ns()) wait_until_known(guard, last_end_);
}

void Engine::wait_for_room(std::unique_lock<std::mutex>& guard) {
  while (compute_pending_.load() >= kLaunchQueue && !stopped_.load()) progress_.wait(guard);
}

void Engine::stop() {
  stopped_.store(true);
  machine_.gpu(gpu_).compute.leave(context_key_);
  for (Worker& worker : workers_) {
    while (!worker.queue.empty()) {
      const OpPtr op = std::move(worker.queue.front());
      worker.queue.pop_front();
      complete(op, op->ready_);
    }
    worker.wake.notify_all();
  }
  progress_.notify_all();
  in_flight_.clear();
}

const char* Engine::user_of(std::uint64_t begin, std::uint64_t size) {
  const Nanos now = now_ns();
  std::erase_if(in_flight_, [now](const OpPtr& op) { return op->finished(now); });
  for (const OpPtr& op : in_flight_) {
    for (const Range& range : op->touches()) {
      if (range.begin < begin + size && begin < range.begin + range.size) return op->name();
    }
  }
  return nullptr;
}

const char* Engine::coming_user_of(std::uint64_t begin, std::uint64_t size) {
  for (const OpPtr& op : in_flight_) {
    if (op->done_) continue;
    for (const Range& range : op->touches()) {
      if (range.begin < begin + size && begin < range.begin + range.size) return op->name();
    }
  }
  return nullptr;
}

bool Engine::orders(const OpPtr& first, std::span<const OpPtr> later) {
  std::vector<const Op*> found{first.get()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const OpPtr& op : later) {
      if (op.get() == found[i]) return true;
    }
    for (const OpPtr& dependent : found[i]->dependents_) {
      if (std::find(found.begin(), found.end(), dependent.get()) == found.end()) {
        found.push_back(dependent.get());
      }
    }
  }
  return false;
}

void Engine::account(Nanos busy, Nanos now) {
  machine_.own_slot().gpu[gpu_].busy_ns.fetch_add(static_cast<std::uint64_t>(busy));
  machine_.sample_utilisation(gpu_, now);
}

SliceTimes Engine::slice_times() const {
  const Model& model = machine_.model();
  return {.slice = machine_.dilate(static_cast<double>(model.slice_ns)),
          .switch_cost = machine_.dilate(static_cast<double>(model.switch_ns)),
          .grace = machine_.dilate(20e6)};
}

}  // namespace nvs::sim
