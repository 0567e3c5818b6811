// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/compute_token.h"

#include <algorithm>
#include <climits>
#include <mutex>

#include "cuda_sim/machine/futex.h"

namespace nvs::sim {
namespace {

constexpr Nanos kPoll = 5'000'000;

}  // namespace

ComputeAnswer ComputeToken::request(const ComputeRequest& request, const SliceTimes& times) {
  const std::lock_guard guard{lock_};
  drop_silent_waiters(request.now, times.grace);

  // A holder that ran dry has lost the GPU to whoever waited, even if that one has not woken up
  // yet.
  const bool ran_dry = !holder_has_more_ && request.ready > free_at_;
  if (holder_ == request.context && ran_dry && others_wait(request.context)) {
    holder_ = 0;
    announce();
  }
  const bool took_over = holder_ != request.context;
  const bool slice_over = free_at_ - slice_begin_ >= times.slice;
  if (holder_ == request.context && slice_over) {
    if (others_wait(request.context)) {
      holder_ = 0;
      free_at_ += times.switch_cost;
      enqueue(request.context, request.now);
      announce();
      return later(request.now + kPoll);
    }
    slice_begin_ = free_at_;
  }
  if (holder_ != request.context) {
    const bool lost = request.now > free_at_ + times.grace;
    const bool dry = !holder_has_more_ && request.now >= free_at_;
    if (holder_ != 0 && !lost && !dry) {
      enqueue(request.context, request.now);
      const Nanos retry_at = holder_has_more_ ? request.now + kPoll : free_at_;
      return later(std::min(retry_at, request.now + kPoll));
    }
    const bool freed = holder_ != 0;
    holder_ = 0;
    if (!is_first(request.context)) {
      enqueue(request.context, request.now);
      if (freed) announce();
      return later(request.now + kPoll);
    }
    dequeue(request.context);
    holder_ = request.context;
    slice_begin_ = std::max(request.ready, free_at_);
  }

  const Nanos start = std::max(request.ready, free_at_);
  if (start >= slice_begin_ + times.slice) slice_begin_ = start;
  const Nanos end = std::min(start + request.want, slice_begin_ + times.slice);
  holder_has_more_ = request.more || end < start + request.want;
  free_at_ = end;
  // Those who wait for this context to run dry must learn when that will be.
  if (took_over && !holder_has_more_ && others_wait(request.context)) announce();
  busy_ns_.fetch_add(static_cast<std::uint64_t>(end - start), std::memory_order_relaxed);
  return {.granted = true, .start = start, .end = end};
}

void ComputeToken::wait(const ComputeAnswer& answer) {
  futex_wait(epoch_, answer.epoch, answer.retry_at);
}

ComputeAnswer ComputeToken::later(Nanos retry_at) const {
  return {.retry_at = retry_at, .epoch = epoch_.load(std::memory_order_relaxed)};
}

void ComputeToken::run_dry(std::uint64_t context) {
  const std::lock_guard guard{lock_};
  if (holder_ != context || !holder_has_more_) return;
  holder_has_more_ = false;
  if (others_wait(context)) announce();
}

void ComputeToken::leave(std::uint64_t context) {
  const std::lock_guard guard{lock_};
  dequeue(context);
  if (holder_ != context) return;
  holder_ = 0;
  announce();
}

bool ComputeToken::others_wait(std::uint64_t context) const {
  return std::any_of(waiters_.begin(), waiters_.end(), [&](const Waiter& waiter) {
    return waiter.context != 0 && waiter.context != context;
  });
}

// A context that has not queued stands behind all that have.
bool ComputeToken::is_first(std::uint64_t context) const {
  std::uint64_t own = ULLONG_MAX;
  std::uint64_t first = ULLONG_MAX;
  for (const Waiter& waiter : waiters_) {
    if (waiter.context == 0) continue;
    first = std::min(first, waiter.ticket);
    if (waiter.context == context) own = waiter.ticket;
  }
  return own == first;
}

void ComputeToken::drop_silent_waiters(Nanos now, Nanos grace) {
  for (Waiter& waiter : waiters_) {
    if (waiter.context != 0 && now > waiter.renewed_at + kPoll + grace) waiter = {};
  }
}

void ComputeToken::enqueue(std::uint64_t context, Nanos now) {
  Waiter* free = nullptr;
  for (Waiter& waiter : waiters_) {
    if (waiter.context == context) {
      waiter.renewed_at = now;
      return;
    }
    if (waiter.context == 0 && free == nullptr) free = &waiter;
  }
  // With more contexts than places the rest ask again later, unqueued.
  if (free != nullptr) *free = {.context = context, .ticket = next_ticket_++, .renewed_at = now};
}

void ComputeToken::dequeue(std::uint64_t context) {
  for (Waiter& waiter : waiters_) {
    if (waiter.context == context) waiter = {};
  }
}

void ComputeToken::announce() {
  epoch_.fetch_add(1, std::memory_order_release);
  futex_wake(epoch_, INT_MAX);
}

}  // namespace nvs::sim
