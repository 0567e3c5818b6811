// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/waits.h"

#include <atomic>

#include "interposer/flow/queue.h"
#include "interposer/gate/awake.h"
#include "interposer/gate/precise_sleep.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/session.h"
#include "os/linux_calls.h"

namespace nvs::interposer::gate::waits {
namespace {

// Long enough that it costs nothing, short enough that a request which could not be sent is sent
// again before anybody notices.
constexpr std::int64_t kAskAgain_ns = 100'000'000;

// The queue does not run dry meanwhile.
static_assert(kListenerFirst_ns < flow::kRunDry_ns);

constinit std::atomic<std::uint32_t> count{0};
constinit std::atomic<std::int64_t> ready_until_ns{0};
constinit AwakePlaces places;
constinit Wakefulness wakefulness;

const volatile std::uint32_t* futex() {
  return reinterpret_cast<const volatile std::uint32_t*>(&count);
}

void stay_awake(std::uint32_t seen, std::int64_t until_ns) {
  while (count.load(std::memory_order_acquire) == seen && clock_ns() < until_ns) os::relax();
}

// Whoever waited for room submits next, and the daemon may have said just now that the gate closes.
// What is submitted before the listener is up is what the next tenant has to wait for. Any number
// of threads may come here, on the processor that the listener needs; where there are not enough of
// those it is late anyway.
void let_listener_go_first(std::uint32_t seen, std::int64_t patience_ns) {
  const std::int64_t now_ns = clock_ns();
  if (!wakefulness.may_stay_awake(now_ns)) return;
  while (count.load(std::memory_order_acquire) == seen && session::is_word_due()) {
    if (clock_ns() - now_ns >= patience_ns) return;
    os::yield();
  }
}

// For how long a thread that stayed awake did not run.
class Absence {
 public:
  std::int64_t ns() const { return clock_ns() - from_ns_ - (os::thread_processor_ns() - ran_ns_); }

 private:
  std::int64_t from_ns_ = clock_ns();
  std::int64_t ran_ns_ = os::thread_processor_ns();
};

}  // namespace

std::uint32_t changes() { return count.load(std::memory_order_seq_cst); }

void changed() {
  count.fetch_add(1, std::memory_order_seq_cst);
  os::futex_wake(futex(), 0x7fffffff);
}

void get_ready(std::int64_t until_ns) {
  ready_until_ns.store(until_ns, std::memory_order_release);
  changed();
}

void at_closed_gate(std::uint32_t seen) {
  const std::int64_t until_ns = ready_until_ns.load(std::memory_order_acquire);
  const std::int64_t now_ns = clock_ns();
  const int place = now_ns < until_ns ? places.take(now_ns, until_ns) : -1;
  if (place < 0) {
    os::futex_wait(futex(), seen, kAskAgain_ns);
    return;
  }
  stay_awake(seen, until_ns);
  places.give_back(place, until_ns);
}

// The driver, too, stays awake where its own queue is full.
void for_room(std::uint32_t seen, const flow::Room& room, std::int64_t listener_first_ns) {
  const std::int64_t now_ns = clock_ns();
  const std::int64_t until_ns = now_ns + room.wait_ns;
  const bool sleeps = room.sleep_ns > 0 || !wakefulness.may_stay_awake(now_ns);
  const int place = sleeps ? -1 : places.take(now_ns, until_ns);
  if (place < 0) {
    const PreciseSleep precise;
    os::futex_wait(futex(), seen, room.sleep_ns > 0 ? room.sleep_ns : room.wait_ns);
  } else {
    const Absence absence;
    stay_awake(seen, until_ns);
    const bool was_kept = absence.ns() > Wakefulness::kKeptFromRunning_ns;
    if (was_kept) kept_from_running();
    places.give_back(place, until_ns);
  }
  let_listener_go_first(seen, listener_first_ns);
}

void kept_from_running() { wakefulness.kept_from_running(clock_ns()); }

void start_over_in_child() {
  ready_until_ns.store(0, std::memory_order_relaxed);
  wakefulness.forget();
}

}  // namespace nvs::interposer::gate::waits
