// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/clock.h"

#include <time.h>

namespace nvs::sim {
namespace {

// The default timer slack of a thread is 50 us, and waking costs some more.
constexpr Nanos kSpin = 70'000;

}  // namespace

Nanos now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Nanos{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void doze_until(Nanos deadline) {
  const timespec t{.tv_sec = deadline / 1'000'000'000, .tv_nsec = deadline % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

void wait_until(Nanos deadline) {
  if (deadline - now_ns() > kSpin) doze_until(deadline - kSpin);
  // No yielding: on a busy host that gives a whole time slice away for a few microseconds.
  while (now_ns() < deadline) {
  }
}

}  // namespace nvs::sim
