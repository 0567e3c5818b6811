// SPDX-License-Identifier: Apache-2.0
#include "interposer/events/event_times.h"

#include <algorithm>

#include "interposer/resolve/clock.h"

namespace nvs::interposer::events {

constinit EventTimes the_times{&clock_ns};

void EventTimes::begin_first_wait(int gpu) {
  const os::FutexGuard guard(lock_);
  first_wait_[gpu] = clocks_[gpu].is_at_zero();
  has_waited_.store(true, std::memory_order_release);
  clocks_[gpu].start(now_());
}

// The flag is raised before the clock starts, so whoever finds it down records at zero. A thread
// that is stopped between that look and the driver's call, until after this first wait, is wrong
// once; another look after the call is not worth what every call would pay for it.
void EventTimes::begin_wait(int gpu) {
  const os::FutexGuard guard(lock_);
  has_waited_.store(true, std::memory_order_release);
  clocks_[gpu].start(now_());
}

void EventTimes::end_wait(int gpu) {
  const os::FutexGuard guard(lock_);
  clocks_[gpu].stop(now_());
  if (first_wait_[gpu] && !has_records_.load(std::memory_order_relaxed)) clocks_[gpu].reset();
  first_wait_[gpu] = false;
  const auto stands_at_zero = [](const WaitClock& clock) { return clock.is_at_zero(); };
  const bool none = std::all_of(std::begin(clocks_), std::end(clocks_), stands_at_zero);
  has_waited_.store(!none, std::memory_order_release);
}

std::int64_t EventTimes::waited_ns(int gpu) const { return clocks_[gpu].read_ns(now_); }

void EventTimes::recorded(CUevent event, int gpu, std::int64_t before_ns) {
  const os::FutexGuard guard(lock_);
  Record record = record_of(event, Sight::seen);
  record.after_ns = waited_ns(gpu);
  // A clock goes back to zero if the call met the end of a wait that is forgotten.
  record.before_ns = std::min(before_ns, record.after_ns);
  // Events that are not in the table stand at zero.
  if (record.after_ns != 0 || records_.find(record) != nullptr) put(record);
}

void EventTimes::recorded_somewhere(CUevent event) {
  const os::FutexGuard guard(lock_);
  put(record_of(event, Sight::unseen));
}

void EventTimes::given_to_graph(CUevent event) {
  const os::FutexGuard guard(lock_);
  put(record_of(event, Sight::of_graph));
}

void EventTimes::destroyed(CUevent event) {
  if (!has_records_.load(std::memory_order_acquire)) return;
  const os::FutexGuard guard(lock_);
  if (Record* record = records_.find(record_of(event, Sight::seen))) records_.erase(record);
}

void EventTimes::put(const Record& record) {
  if (!record.used()) return;
  has_records_.store(true, std::memory_order_release);
  if (Record* known = records_.find(record)) {
    if (known->sight != Sight::of_graph) *known = record;
  } else if (records_.insert(record, map_) == nullptr) {
    lost_record_ = true;
  }
}

// An event that is not in the table was recorded before any clock had started, or did not get in.
EventTimes::Record EventTimes::find(CUevent event) const {
  const Record wanted = record_of(event, lost_record_ ? Sight::unseen : Sight::seen);
  const Record* found = records_.find(wanted);
  return found != nullptr ? *found : wanted;
}

std::int64_t EventTimes::waited_between_ns(CUevent start, CUevent end) {
  const os::FutexGuard guard(lock_);
  const Record from = find(start);
  const Record to = find(end);
  if (from.sight != Sight::seen || to.sight != Sight::seen) return 0;
  return std::max<std::int64_t>(to.before_ns - from.after_ns, 0);
}

float EventTimes::without_waits(float milliseconds, CUevent start, CUevent end) {
  // Given the wrong way round, the driver says how long ago the end was.
  if (milliseconds < 0) return -without_waits(-milliseconds, end, start);
  constexpr double kMillisecond_ns = 1e6;
  const auto waited_ns = static_cast<double>(waited_between_ns(start, end));
  const double left = static_cast<double>(milliseconds) - waited_ns / kMillisecond_ns;
  return left > 0 ? static_cast<float>(left) : 0;
}

void EventTimes::start_over_in_child() {
  lock_.reset();
  for (WaitClock& clock : clocks_) clock.reset();
  for (bool& first : first_wait_) first = false;
  has_waited_.store(false, std::memory_order_relaxed);
  has_records_.store(false, std::memory_order_relaxed);
  lost_record_ = false;
  records_.forget();
}

}  // namespace nvs::interposer::events
