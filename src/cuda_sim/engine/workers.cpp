// SPDX-License-Identifier: Apache-2.0
// The part of Engine that runs on worker threads: how each kind of op takes its modelled time.
#include <algorithm>

#include "cuda_sim/engine/engine.h"
#include "cuda_sim/engine/worker_thread.h"

namespace nvs::sim {
namespace {

// How far a worker may run in front of the clock. More saves wake-ups; less lets other contexts in
// more promptly.
constexpr Nanos kComputeLookAhead = 200'000;
constexpr Nanos kCopyLookAhead = 1'000'000;
constexpr std::uint64_t kCopyPiece = 2ULL << 20;  // of the card modelled
constexpr double kCopyLatencyNs = 1500;
constexpr Nanos kHangPiece = 1'000'000;

}  // namespace

void Engine::work(Lane lane) {
  std::unique_lock guard{lock_};
  Worker& worker = workers_[static_cast<unsigned>(lane)];
  for (;;) {
    if (worker.queue.empty()) {
      if (stopped_.load()) return;
      if (lane == Lane::compute) machine_.gpu(gpu_).compute.run_dry(context_key_);
      worker.wake.wait(guard);
      continue;
    }
    const OpPtr op = std::move(worker.queue.front());
    worker.queue.pop_front();
    if (lane == Lane::compute && run_at_once(op)) {
      release_dependents(*op);
      continue;
    }
    worker.busy = true;
    guard.unlock();
    execute(op);
    guard.lock();
    worker.busy = false;
  }
}

void Engine::execute(const OpPtr& op) {
  Nanos end = 0;
  switch (op->lane()) {
    case Lane::compute:
      end = run_compute(*op);
      break;
    case Lane::copy_in:
    case Lane::copy_out:
      end = run_copy(*op);
      break;
    default:
      end = run_host(*op);
      break;
  }
  const std::lock_guard guard{lock_};
  complete(op, stopped_.load() ? now_ns() : end);
}

// The mapping counts when the work starts, not when it was submitted.
bool Engine::resolve(Op& op) {
  const std::lock_guard guard{lock_};
  if (stopped_.load()) return false;
  if (op.resolve()) return true;
  on_fault_(op);
  return false;
}

Nanos Engine::run_compute(Op& op) {
  ComputeToken& token = machine_.gpu(gpu_).compute;
  const SliceTimes times = slice_times();
  const unsigned releases = hang_releases_.load();
  Nanos remaining = std::max<Nanos>(op.duration() - op.spent_, 1);
  Nanos ready = std::max(op.ready_, compute_free_at_);
  bool performed = false;
  while (!stopped_.load()) {
    const bool hanging = op.hangs() && hang_releases_.load() == releases;
    if (hanging) remaining = std::max(remaining, machine_.dilate(kHangPiece));
    const Nanos now = now_ns();
    if (ready > now + kComputeLookAhead) {
      doze_until(ready - kComputeLookAhead);
      continue;
    }
    const ComputeAnswer answer = token.request({.context = context_key_,
                                                .now = now,
                                                .ready = ready,
                                                .want = remaining,
                                                .more = compute_pending_.load() > 1},
                                               times);
    if (!answer.granted) {
      token.wait(answer);
      continue;
    }
    if (!performed) {
      performed = true;
      if (!resolve(op)) return now;
      op.perform(0, op.bytes());
      remaining += op.stall();
    }
    account(answer.end - answer.start, now);
    remaining -= answer.end - answer.start;
    ready = answer.end;
    compute_free_at_ = answer.end;
    if (remaining <= 0 && !hanging) return answer.end;
  }
  return now_ns();
}

// The submitting thread does the work itself when nothing is queued in front of it: a program that
// launches thousands of tiny kernels would otherwise measure the host's thread switches.
bool Engine::try_inline(const OpPtr& op) {
  const Worker& worker = workers_[static_cast<unsigned>(Lane::compute)];
  return !worker.busy && worker.queue.empty() && run_at_once(op);
}

// Runs a short kernel under the lock, if the GPU is to be had now. The worker does so too, or it
// would never catch up with a program that goes on launching.
bool Engine::run_at_once(const OpPtr& op) {
  if (!op->is_light() || op->hangs() || stopped_.load()) return false;
  const Nanos now = now_ns();
  const Nanos ready = std::max(op->ready_, compute_free_at_);
  const Nanos duration = std::max<Nanos>(op->duration() - op->spent_, 1);
  if (ready > now + kComputeLookAhead || duration > kComputeLookAhead) return false;
  const ComputeAnswer answer =
      machine_.gpu(gpu_).compute.request({.context = context_key_,
                                          .now = now,
                                          .ready = ready,
                                          .want = duration,
                                          .more = compute_pending_.load() > 1},
                                         slice_times());
  if (!answer.granted) return false;
  account(answer.end - answer.start, now);
  compute_free_at_ = answer.end;
  if (answer.end - answer.start < duration) {
    op->spent_ += answer.end - answer.start;
    return false;
  }
  if (op->resolve()) {
    op->perform(0, op->bytes());
    finish(*op, answer.end);
  } else {
    finish(*op, answer.end);
    on_fault_(*op);
  }
  return true;
}

Nanos Engine::run_copy(Op& op) {
  const double scale = machine_.scale();
  const auto piece_max = std::max<std::uint64_t>(kCopyPiece / machine_.scale(), 1);
  Nanos begin = std::max(op.ready_, now_ns() - kCopyLookAhead);
  Nanos ready = begin + machine_.dilate(kCopyLatencyNs);
  if (ready > now_ns() + kCopyLookAhead) doze_until(ready - kCopyLookAhead);
  if (!resolve(op)) return now_ns();
  begin += op.stall();
  ready += op.stall();
  std::uint64_t offset = 0;
  while (offset < op.bytes() && !stopped_.load()) {
    const std::uint64_t piece = std::min(piece_max, op.bytes() - offset);
    if (ready > now_ns() + kCopyLookAhead) doze_until(ready - kCopyLookAhead / 2);
    const Nanos end = reserve_copy(op.lane(), ready, piece);
    op.perform(offset, piece);
    ready = end;
    if (op.rate_limit() > 0) {
      const double nominal = static_cast<double>(offset + piece) * scale;
      ready = std::max(ready, begin + machine_.dilate(nominal / op.rate_limit()));
    }
    offset += piece;
  }
  return ready;
}

Nanos Engine::reserve_copy(Lane lane, Nanos ready, std::uint64_t bytes) {
  GpuShare& gpu = machine_.gpu(gpu_);
  const Model& model = machine_.model();
  std::atomic<Nanos>& own = lane == Lane::copy_in ? gpu.copy_in_free_at : gpu.copy_out_free_at;
  std::atomic<Nanos>& other = lane == Lane::copy_in ? gpu.copy_out_free_at : gpu.copy_in_free_at;
  const double nominal = static_cast<double>(bytes) * machine_.scale();
  const Nanos now = now_ns();
  Nanos free_at = own.load();
  for (;;) {
    const Nanos start = std::max(ready, free_at);
    // By the clock: both directions book ahead, and one that is further ahead is not alone.
    const bool duplex = other.load() > now;
    const double rate = duplex ? model.duplex_bytes_per_ns : model.copy_bytes_per_ns;
    const Nanos taken = machine_.dilate(nominal / rate);
    if (!own.compare_exchange_weak(free_at, start + taken)) continue;
    gpu.copied_ns.fetch_add(static_cast<std::uint64_t>(taken));
    return start + taken;
  }
}

// A host function must not run before its time: the program sees it at once.
Nanos Engine::run_host(Op& op) {
  wait_until(op.ready_);
  if (!stopped_.load()) op.perform(0, 0);
  return now_ns();
}

}  // namespace nvs::sim
