// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/thread.h"

#include <atomic>

#include <pthread.h>

#include "interposer/resolve/libc.h"
#include "os/socket_calls.h"

namespace nvs::interposer {
namespace {

struct Order {
  void (*run)(void*);
  void* argument;
  std::atomic<bool> taken;
};

void* begin(void* argument) {
  auto* order = static_cast<Order*>(argument);
  const auto run = order->run;
  void* const what = order->argument;
  order->taken.store(true, std::memory_order_release);
  os::name_thread("nvshare");
  os::set_timer_slack_ns(1);
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
