// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/thread.h"

#include <atomic>
#include <cstdint>

#include <pthread.h>
#include <sched.h>

#include "interposer/resolve/libc.h"
#include "os/socket_calls.h"

namespace nvs::interposer {
namespace {

struct Order {
  void (*run)(void*);
  void* argument;
  std::atomic<bool> taken;
};

// A thread bound to one core mostly keeps it busy, and ours must run beside it. One bound to more
// is left where the user put it.
void leave_core() {
  constexpr int kCoreThreads = 2;
  std::uint64_t cpus[128] = {};
  const long size = os::system_call(SYS_sched_getaffinity, 0, sizeof cpus, os::argument(cpus));
  int count = 0;
  for (std::uint64_t word : cpus) {
    for (; word != 0; word &= word - 1) ++count;
  }
  if (size <= 0 || count > kCoreThreads) return;
  for (std::uint64_t& word : cpus) word = ~std::uint64_t{0};
  os::system_call(SYS_sched_setaffinity, 0, sizeof cpus, os::argument(cpus));
}

// Ours stay awake at times, and a real-time thread that does so keeps everybody off its processor.
void be_ordinary() {
  const long policy = os::system_call(SYS_sched_getscheduler, 0);
  if (policy != SCHED_FIFO && policy != SCHED_RR) return;
  const sched_param parameters{};
  os::system_call(SYS_sched_setscheduler, 0, SCHED_OTHER, os::argument(&parameters));
}

void* begin(void* argument) {
  auto* order = static_cast<Order*>(argument);
  const auto run = order->run;
  void* const what = order->argument;
  order->taken.store(true, std::memory_order_release);
  os::name_thread("nvshare");
  os::set_timer_slack_ns(1);
  leave_core();
  be_ordinary();
  run(what);
  return nullptr;
}

}  // namespace

bool start_thread(void (*run)(void*), void* argument) {
  Order order{run, argument, {false}};
  std::uint64_t mask = 0;
  os::block_signals(mask);  // the new thread inherits that
  const bool started = libc::create_thread(&begin, &order);
  os::restore_signals(mask);
  while (started && !order.taken.load(std::memory_order_acquire)) os::sleep_ns(1000);
  return started;
}

}  // namespace nvs::interposer
